"""Avro schemas: parsed, with their defaults, and what Connect makes of them."""
