"""Rows of one table to its files."""
