"""What one Spark task does."""
