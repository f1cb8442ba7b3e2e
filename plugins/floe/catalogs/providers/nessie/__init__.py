"""Nessie, by its Iceberg REST endpoint."""
