"""Which columns records need, and what a table takes."""
