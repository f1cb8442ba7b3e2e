"""Record values to Arrow rows."""
