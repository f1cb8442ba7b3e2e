"""One module for each type of catalog."""
