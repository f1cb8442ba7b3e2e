"""On a real broker."""
