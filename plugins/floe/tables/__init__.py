"""What a table says of itself, and the one way to commit to it."""
