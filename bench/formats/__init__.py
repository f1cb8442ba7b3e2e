"""The formats of values whose converters are measured: how a record is written, and what reads it."""
