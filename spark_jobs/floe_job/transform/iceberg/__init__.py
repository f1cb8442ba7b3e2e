"""The sink's own transforms, beside ``KafkaMetadataTransform``."""
