"""JSON Schema with a schema registry: a record's frame names the schema that its producer wrote it by."""
