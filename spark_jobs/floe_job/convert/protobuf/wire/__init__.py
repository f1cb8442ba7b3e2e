"""Messages as their bytes are: what is there, without names and meanings."""
