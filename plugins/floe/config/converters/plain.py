"""The converters of plain values, which have no fields: text, bytes, numbers, booleans; and that of headers."""

from collections.abc import Callable
from typing import Final

from floe.config.converters.base import ALL_ROLES, ConverterClass, ConverterSpec, Role
from floe.config.converters.charsets import ENCODING, codec_of
from floe.config.converters.kinds import BOOLEAN, BYTES, NUMBERS, PLAIN_KINDS, SIMPLE_HEADER, STRING
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.secrets.detection import is_reference

NO_FIELDS: Final = (
    "value.converter gives values without fields, of which no row can be made: every record is rejected. Set the "
    "converter that the producer's serializer belongs to, such as JsonConverter for JSON"
)
"""Of a connector whose transforms make no fields of such values."""

_SIDES: Final = ("key.", "value.", "")
_WRITTEN: Final = tuple(f"{side}serializer.encoding" for side in _SIDES)


def has_no_fields(spec: ConverterSpec) -> bool:
    """Whether a converter gives values without fields."""
    return spec.kind in PLAIN_KINDS


def read_string(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options: the character set. That of the role's deserializer takes precedence, as in Kafka's class."""
    own = f"{'key' if role == 'key' else 'value'}.deserializer.encoding"
    key = options.key(own, ENCODING)
    options.ignore(_WRITTEN, "floe writes no records with it")
    others = (f"{side}deserializer.encoding" for side in _SIDES)
    options.ignore((one for one in others if one != own), f"{ENCODING} takes its place")
    if key is None:
        return ConverterSpec(STRING, role=role)
    charset = options.options[key].strip()
    if not is_reference(charset) and codec_of(charset) is None:
        options.refuse_value(key, "no character set of this name is known to floe; UTF-8 is the default")
    return ConverterSpec(STRING, Properties({ENCODING: charset}), role)


def read_simple_header(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options: there are none."""
    return ConverterSpec(SIMPLE_HEADER, role=role)


def _without_options(kind: str) -> Callable[[OptionReader, Role], ConverterSpec]:
    def read(_: OptionReader, role: Role) -> ConverterSpec:
        return ConverterSpec(kind, role=role)

    return read


def _plain(kind: str, read: Callable[[OptionReader, Role], ConverterSpec] | None = None) -> ConverterClass:
    return ConverterClass(ALL_ROLES, read or _without_options(kind))


CLASSES: Final[dict[str, ConverterClass]] = {
    "org.apache.kafka.connect.storage.StringConverter": _plain(STRING, read_string),
    "org.apache.kafka.connect.converters.ByteArrayConverter": _plain(BYTES),
    "org.apache.kafka.connect.converters.BooleanConverter": _plain(BOOLEAN),
    **{
        f"org.apache.kafka.connect.converters.{name}Converter": _plain(kind)
        for name, kind in zip(("Short", "Integer", "Long", "Float", "Double"), NUMBERS, strict=True)
    },
    "org.apache.kafka.connect.storage.SimpleHeaderConverter": ConverterClass(
        frozenset[Role]({"header"}), read_simple_header
    ),
}
"""By Java class."""
