"""Faults: what breaks, an oracle that shares no code with floe, and the matrix of what must come of it."""
