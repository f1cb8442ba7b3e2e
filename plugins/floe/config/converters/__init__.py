"""The converters of Kafka Connect that floe reads keys, values and headers with (standard library only)."""
