"""The kinds of bytes that converters read, by the names of their implementations in ``floe_job.convert.registry``."""

from typing import Final

JSON: Final = "json"
"""JSON without schemas."""

ENVELOPE: Final = "envelope"
"""JSON with schemas: an object of a schema and a payload."""

EXT_JSON: Final = "ext-json"
"""JSON objects of a schema's id and a payload."""

JSON_SCHEMA: Final = "json-schema"
"""JSON with schemas of a registry."""

AVRO: Final = "avro"
"""Avro with schemas of a registry."""

PROTOBUF: Final = "protobuf"
"""Protobuf with schemas of a registry."""

STRING: Final = "string"
BYTES: Final = "bytes"
BOOLEAN: Final = "boolean"
NUMBERS: Final = ("short", "int", "long", "float", "double")
"""Numbers, as Kafka's serializers write them: of 2, 4, 8, 4 and 8 bytes, the highest byte first."""

PLAIN_KINDS: Final = frozenset({STRING, BYTES, BOOLEAN, *NUMBERS})
"""All kinds of plain values."""

SIMPLE_HEADER: Final = "simple-header"
"""Headers that are text, from which Connect guesses a type. Nothing decodes headers yet."""
