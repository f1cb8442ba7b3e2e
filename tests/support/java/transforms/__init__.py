"""Transforms of Kafka Connect and floe's on the same random records, to be compared."""
