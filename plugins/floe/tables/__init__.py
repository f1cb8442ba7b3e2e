"""What a table's metadata says, and the one way to commit to a table."""
