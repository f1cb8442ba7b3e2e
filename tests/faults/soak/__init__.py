"""The soak: random faults for minutes, replayable by their seed, a quiet end, and the oracle's report."""
