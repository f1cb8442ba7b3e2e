"""Kafka Connect's data model: the schemas of typed values, and the Arrow type of each."""
