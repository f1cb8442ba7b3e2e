"""Debezium's transforms: rows out of change events."""
