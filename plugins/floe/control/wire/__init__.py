"""The Iceberg sink's Avro format, byte for byte."""
