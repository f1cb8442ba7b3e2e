"""The table of configuration keys, and typed access to what a connector says."""
