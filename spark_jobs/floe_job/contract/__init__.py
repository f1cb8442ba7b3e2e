"""What driver and tasks send each other."""
