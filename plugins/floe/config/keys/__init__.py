"""The table of configuration keys, and typed access to a connector's settings."""
