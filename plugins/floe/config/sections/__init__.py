"""One module for each group of keys."""
