"""The options of converters that say how a schema registry is reached (standard library only)."""
