"""Java programs that tests ask, and what they print."""
