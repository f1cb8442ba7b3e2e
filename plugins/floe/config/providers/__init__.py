"""Config providers: references to values that are elsewhere, as Kafka Connect has them (standard library only)."""
