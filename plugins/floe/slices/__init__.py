"""A slice before it is read: what the catalog and Kafka contain for it."""
