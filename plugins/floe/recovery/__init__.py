"""Changes of ledgers without rows: rollbacks, topics that are begun again."""
