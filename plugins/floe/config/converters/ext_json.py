"""The options of Apicurio's JSON converter: Kafka's ``JsonConverter``, with the schema in a registry."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from floe.config.converters.base import KEYS_AND_VALUES, ConverterClass, ConverterSpec, Role
from floe.config.converters.json import DECIMAL_FORMAT, REPLACE_NULL, SCHEMAS_ENABLE, warn_of_defaults
from floe.config.converters.kinds import EXT_JSON
from floe.config.converters.with_registry import spec_with_registry
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties

_HEADERS: Final = "apicurio.registry.headers.enabled"
_OF_IDS: Final = (
    "apicurio.registry.id-handler",
    "apicurio.registry.as-confluent",
    "apicurio.registry.use-id",
    _HEADERS,
)
_OF_HEADERS: Final = "apicurio.registry.headers."


def read_ext_json(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options of ``io.apicurio.registry.utils.converter.ExtJsonConverter``."""
    options.boolean(REPLACE_NULL, True)
    warn_of_defaults(options, role)
    options.ignore((SCHEMAS_ENABLE,), "this converter's values always have schemas")
    options.ignore((DECIMAL_FORMAT,), "it says how decimals are written, and both ways are read")
    options.ignore(("schemas.cache.size",), "floe keeps the last 1,000 schemas")
    ids = {*_OF_IDS, *(name for name in options.options if name.startswith(_OF_HEADERS))}
    spec = spec_with_registry(options, role, EXT_JSON, "apicurio")
    options.ignore(sorted(ids), "this converter's ids are global ids in the values")
    needed = {name: text for name, text in spec.options.items() if name not in ids}
    return replace(spec, options=Properties({**needed, _HEADERS: "false"}))


CLASSES: Final[dict[str, ConverterClass]] = {
    "io.apicurio.registry.utils.converter.ExtJsonConverter": ConverterClass(KEYS_AND_VALUES, read_ext_json),
}
"""By Java class."""
