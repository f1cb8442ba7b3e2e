"""Plain values, as Kafka's own serializers write them: text, bytes, numbers, booleans."""
