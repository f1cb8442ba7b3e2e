"""Consuming: records by the million in librdkafka's own memory, without a Python object for each."""
