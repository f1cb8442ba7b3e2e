"""Catalogs of folders."""
