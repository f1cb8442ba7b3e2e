"""The read model: where a connector is, from Kafka and its tables, for people, pages and metrics."""
