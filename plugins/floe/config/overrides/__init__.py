"""The settings by which a run overrides its connector file."""
