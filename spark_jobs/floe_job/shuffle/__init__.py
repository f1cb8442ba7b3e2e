"""Rows sent between tasks, so that the files of a partition are written by one of them."""
