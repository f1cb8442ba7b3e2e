"""Iceberg's REST catalogs."""
