"""Whole values with schemas, for transforms."""
