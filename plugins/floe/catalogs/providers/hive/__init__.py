"""Hive metastores."""
