"""The settings of the sink's own transforms, beside ``KafkaMetadataTransform``."""
