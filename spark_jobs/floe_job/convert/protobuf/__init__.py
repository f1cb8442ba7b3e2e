"""Protobuf: records behind the id of a schema and the place of a message in it, read as columns."""
