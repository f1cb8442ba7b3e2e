"""Debezium's semantic types, read as what they mean: as columns, and one by one."""
