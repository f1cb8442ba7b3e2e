"""JSON with schemas: Kafka Connect's envelope of a schema and a payload."""
