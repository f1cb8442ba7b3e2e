"""Schemas from a schema registry, by their id: asked once, and kept."""
