"""What a run sets over its connector file."""
