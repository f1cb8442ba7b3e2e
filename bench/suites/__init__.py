"""What is asked of the systems; each suite returns measurements."""
