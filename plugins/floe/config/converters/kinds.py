"""The kinds of bytes that converters read."""

from typing import Final

from floe.config.engine import Engine

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

_CODE: Final = "floe_job.convert"
_PLAIN: Final = Engine(f"{_CODE}.plain.decoder:plain_converters")

ENGINES: Final[dict[str, Engine]] = {
    JSON: Engine(f"{_CODE}.json.decoder:JsonConverters"),
    ENVELOPE: Engine(f"{_CODE}.envelope.decoder:envelope_converters"),
    EXT_JSON: Engine(f"{_CODE}.ext_json:ext_json_converters"),
    JSON_SCHEMA: Engine(f"{_CODE}.json_schema.decoder:json_schema_converters"),
    AVRO: Engine(f"{_CODE}.avro.decoder:avro_converters"),
    PROTOBUF: Engine(f"{_CODE}.protobuf.decoder:protobuf_converters"),
    **dict.fromkeys(sorted(PLAIN_KINDS), _PLAIN),
}
"""What reads each kind: it takes a ``ConverterSpec`` and the context of a task, and returns ``Converters``."""
