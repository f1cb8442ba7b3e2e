"""JSON without schemas."""
