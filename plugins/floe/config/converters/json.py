"""The options of Kafka's ``JsonConverter``."""

import json
from typing import Final

from floe.config.converters.base import ALL_ROLES, ConverterClass, ConverterSpec, Role
from floe.config.converters.kinds import ENVELOPE, JSON
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.secrets.detection import is_reference

SCHEMAS_ENABLE: Final = "schemas.enable"
REPLACE_NULL: Final = "replace.null.with.default"
CACHE_SIZE: Final = "schemas.cache.size"
CONTENT: Final = "schema.content"
DECIMAL_FORMAT: Final = "decimal.format"

_DECIMAL_FORMATS: Final = ("BASE64", "NUMERIC")
_LARGEST: Final = (1 << 31) - 1


def read_json(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options: whether values have the envelope of a schema, which is Connect's default."""
    has_schemas = options.boolean(SCHEMAS_ENABLE, True)
    options.boolean(REPLACE_NULL, True)
    options.number(CACHE_SIZE, 0, _LARGEST)
    decimal_format = options.text(DECIMAL_FORMAT)
    if decimal_format and decimal_format.upper() not in _DECIMAL_FORMATS:
        options.refuse_value(DECIMAL_FORMAT, f"it is none of {', '.join(_DECIMAL_FORMATS)}")
    options.ignore((DECIMAL_FORMAT,), "it says how decimals are written, and both ways are read")
    if not _is_object(options.text(CONTENT)):
        options.refuse_value(CONTENT, "it is not the JSON of a schema")
    if not has_schemas:
        options.ignore(
            (REPLACE_NULL, CACHE_SIZE, CONTENT), f"values have no schemas, as {options.prefix}{SCHEMAS_ENABLE} is false"
        )
        return ConverterSpec(JSON, role=role)
    warn_of_defaults(options, role)
    given = {name: text for name in (REPLACE_NULL, CACHE_SIZE, CONTENT) if (text := options.text(name))}
    return ConverterSpec(ENVELOPE, Properties(given), role)


def warn_of_defaults(options: OptionReader, role: Role) -> None:
    """Warn that nulls become defaults, which Connect's converter makes of them unless it is told not to."""
    if options.key(REPLACE_NULL) is None and role == "value":
        options.warnings.append(
            f"{options.prefix}{REPLACE_NULL} is not given, and true by default, as in Kafka Connect: a null that was sent "
            "becomes the default of its field, where the schema has one. Set it to false to keep nulls, or to true if that "
            "is meant"
        )


def _is_object(text: str) -> bool:
    """Return whether a text is the JSON of an object, or is not given or a reference, of which nothing is known here."""
    if not text or is_reference(text):
        return True
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


JSON_CONVERTER: Final = "org.apache.kafka.connect.json.JsonConverter"
CLASSES: Final[dict[str, ConverterClass]] = {
    JSON_CONVERTER: ConverterClass(
        ALL_ROLES,
        read_json,
    ),
}
"""By Java class."""
