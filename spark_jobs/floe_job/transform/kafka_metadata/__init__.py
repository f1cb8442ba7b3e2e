"""The sink's KafkaMetadataTransform."""
