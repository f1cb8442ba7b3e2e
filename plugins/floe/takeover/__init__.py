"""Takeover: from a Kafka Connect sink of the same name to floe, and back."""
