"""Kafka's own transforms: a module for each, or for several that are alike."""
