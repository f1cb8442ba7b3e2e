"""The converters of Kafka Connect: which values floe can decode."""

from floe.config.keys.reader import Settings

VALUE = "value.converter"
SCHEMAS_ENABLE = "value.converter.schemas.enable"

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_JSON_NAMES = (_JSON, "JsonConverter", "Json")
_KNOWN = (
    "org.apache.kafka.connect.storage.StringConverter",
    "org.apache.kafka.connect.storage.SimpleHeaderConverter",
    "org.apache.kafka.connect.converters.ByteArrayConverter",
    "org.apache.kafka.connect.converters.BooleanConverter",
    "org.apache.kafka.connect.converters.ShortConverter",
    "org.apache.kafka.connect.converters.IntegerConverter",
    "org.apache.kafka.connect.converters.LongConverter",
    "org.apache.kafka.connect.converters.FloatConverter",
    "org.apache.kafka.connect.converters.DoubleConverter",
    "io.confluent.connect.avro.AvroConverter",
    "io.confluent.connect.protobuf.ProtobufConverter",
    "io.confluent.connect.json.JsonSchemaConverter",
    _JSON,
)
_KNOWN_NAMES = {
    alias
    for name in _KNOWN
    for alias in (name, name.rpartition(".")[2], name.rpartition(".")[2].removesuffix("Converter"))
}


def check_converters(settings: Settings) -> None:
    """Note what of the value converter is not supported; those of keys and headers have no effect."""
    name = settings.text(VALUE)
    if not name:
        settings.problems.append(
            f"{VALUE} is not given, and there is no worker with a default: set {_JSON} and {SCHEMAS_ENABLE}=false"
        )
    elif name not in _JSON_NAMES:
        known = "is not supported yet" if name in _KNOWN_NAMES else "is no converter that floe knows"
        settings.problems.append(f"{VALUE} {name[:100]!r} {known}: floe reads {_JSON} with {SCHEMAS_ENABLE}=false")
    elif settings.boolean(SCHEMAS_ENABLE):
        how = "true" if settings.given(SCHEMAS_ENABLE) else "not given, which means true"
        settings.problems.append(
            f"{SCHEMAS_ENABLE} is {how}, and values with a schema envelope are not supported yet: set it to false if "
            "the values are plain JSON"
        )
