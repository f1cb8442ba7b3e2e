"""The converters of Kafka Connect: which class reads keys, values and headers, and by which options."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from floe.config.keys.reader import Settings
from floe.config.properties import Properties

Role = Literal["key", "value", "header"]

VALUE = "value.converter"
SCHEMAS_ENABLE = "value.converter.schemas.enable"

JSON: Final = "json"
"""The kind of JSON without schemas."""

_JSON = "org.apache.kafka.connect.json.JsonConverter"
_SUFFIX = "Converter"
_SHOWN_CHARACTERS = 100


@dataclass(frozen=True)
class ConverterSpec:
    """How the bytes of one role are read: picklable, and JSON by ``to_json``.

    ``kind``: the name of the implementation in ``floe_job.convert.registry``. ``options``: what it needs beside that.
    """

    kind: str = JSON
    options: Properties = Properties()  # noqa: RUF009 - immutable

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON; options that are secrets are in it."""
        return {"kind": self.kind, "options": dict(self.options)}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Read what ``to_json`` wrote."""
        return cls(str(fields["kind"]), Properties(fields["options"]))


PLAIN_JSON: Final = ConverterSpec()


@dataclass(frozen=True)
class ConverterClass:
    """A converter class of Kafka Connect that floe reads for some roles.

    ``read`` reads the options of one role. If there are problems, it notes them in the settings and returns None.
    """

    roles: frozenset[Role]
    read: Callable[[Settings, Role], ConverterSpec | None]


def _read_json(settings: Settings, role: Role) -> ConverterSpec | None:
    if not settings.boolean(SCHEMAS_ENABLE):
        return ConverterSpec(JSON)
    how = "true" if settings.given(SCHEMAS_ENABLE) else "not given, which means true"
    settings.problems.append(
        f"{SCHEMAS_ENABLE} is {how}, and values with a schema envelope are not supported yet: set it to false if "
        "the values are plain JSON"
    )
    return None


CONVERTERS: Final[dict[str, ConverterClass]] = {
    _JSON: ConverterClass(frozenset({"value"}), _read_json),
}
"""The reader of the options of each Java class. A new converter needs a line here, and one in ``floe_job``."""

_LATER = (
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


def read_converter(settings: Settings, role: Role) -> ConverterSpec:
    """Read the converter of a role. If there are problems, they are noted in ``settings`` and JSON is returned."""
    key = f"{role}.converter"
    name = settings.text(key)
    found = next((converter for full, converter in CONVERTERS.items() if name in _spellings(full)), None)
    if not name:
        settings.problems.append(
            f"{key} is not given, and there is no worker with a default: set {_JSON} and {SCHEMAS_ENABLE}=false"
        )
    elif found is None or role not in found.roles:
        known = any(name in _spellings(full) for full in (*_LATER, *CONVERTERS))
        problem = "is not supported yet" if known else "is no converter that floe knows"
        settings.problems.append(
            f"{key} {name[:_SHOWN_CHARACTERS]!r} {problem}: floe reads {_JSON} with {SCHEMAS_ENABLE}=false"
        )
    else:
        return found.read(settings, role) or PLAIN_JSON
    return PLAIN_JSON


def _spellings(name: str) -> tuple[str, ...]:
    """Return how a class may be named: in full, by its simple name, and by that without ``Converter``, as Connect does."""
    simple = name.rpartition(".")[2]
    return name, simple, simple.removesuffix(_SUFFIX)
