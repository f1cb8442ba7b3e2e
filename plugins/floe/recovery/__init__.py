"""Changes of ledgers without rows: rollbacks, and topics that are started over."""
