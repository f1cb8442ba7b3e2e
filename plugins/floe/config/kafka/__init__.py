"""Settings of Kafka's clients: Java's names and librdkafka's, and the places that give them (standard library only)."""
