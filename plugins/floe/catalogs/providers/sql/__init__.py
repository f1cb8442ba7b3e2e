"""Catalogs in an SQL database."""
