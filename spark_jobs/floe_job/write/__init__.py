"""Rows of one table to files."""
