"""The properties file of a Kafka Connect worker: defaults of connectors (standard library only)."""
