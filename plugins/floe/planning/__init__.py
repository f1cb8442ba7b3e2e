"""What a run or a replay reads."""
