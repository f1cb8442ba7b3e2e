"""The options of Confluent's JSON Schema converter."""

from __future__ import annotations

from typing import Final

from floe.config.converters.base import KEYS_AND_VALUES, ConverterClass, ConverterSpec, Role
from floe.config.converters.kinds import JSON_SCHEMA
from floe.config.converters.with_registry import check_ids, read_nullables, spec_with_registry
from floe.config.keys.reader import OptionReader

OPTIONAL: Final = "use.optional.for.nonrequired"
FLATTEN_SINGLETONS: Final = "flatten.singleton.unions"

_SUM_TYPES: Final = "generalized.sum.type.support"
_FAIL_INVALID: Final = "json.fail.invalid.schema"

_OF_CACHES: Final = ("schemas.cache.config", "schemas.cache.size")
_OF_WRITERS: Final = (
    "object.additional.properties",
    "json.default.property.inclusion",
    "json.indent.output",
    "json.oneof.for.nullables",
    "json.schema.spec.version",
    "json.write.dates.iso8601",
    "propagate.schema.tags",
    "scrub.invalid.names",
    "use.schema.id",
    "key.schema.id.serializer",
    "value.schema.id.serializer",
)
_OF_VERSIONS: Final = ("use.latest.version", "use.latest.with.metadata")
_OF_JAVA: Final = ("json.key.type", "json.value.type", "type.property", "schema.reflection")


def read_json_schema(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options of ``io.confluent.connect.json.JsonSchemaConverter``."""
    options.boolean(OPTIONAL, False)
    options.boolean(FLATTEN_SINGLETONS, False)
    read_nullables(options)
    if options.boolean(_SUM_TYPES, False):
        options.refuse_value(
            _SUM_TYPES,
            "floe reads enums as text and unions as structs of numbered fields: set it to false, which is its default",
        )
    if options.boolean(_FAIL_INVALID, False):
        options.refuse_value(
            _FAIL_INVALID,
            "floe checks the types of values, and not lengths, patterns and the like: set it to false, which is its "
            "default, and have producers check",
        )
    options.ignore(("decimal.format",), "it is for writing records: floe reads both forms")
    options.ignore(("ignore.modern.dialects",), "floe reads every schema by the rules of draft 7, as with true")
    options.ignore(_OF_CACHES, "floe keeps the last 1,000 schemas")
    options.ignore(_OF_WRITERS, "it is for writing records")
    options.ignore(_OF_VERSIONS, "each record is read by the schema that it was written with")
    options.ignore(_OF_JAVA, "it names what only Java has, and changes no value")
    check_ids(options, role)
    return spec_with_registry(options, role, JSON_SCHEMA, "confluent")


CLASSES: Final[dict[str, ConverterClass]] = {
    "io.confluent.connect.json.JsonSchemaConverter": ConverterClass(
        KEYS_AND_VALUES,
        read_json_schema,
    ),
}
"""By Java class."""
