"""The options of the Avro converters of Confluent and of Apicurio."""

from __future__ import annotations

from typing import Final

from floe.config.converters.base import KEYS_AND_VALUES, ConverterClass, ConverterSpec, Role
from floe.config.converters.kinds import AVRO
from floe.config.converters.with_registry import check_ids, read_nullables, spec_with_registry
from floe.config.keys.reader import OptionReader

ENHANCED_SUPPORT: Final = "enhanced.avro.schema.support"
CONNECT_METADATA: Final = "connect.meta.data"
FLATTEN_SINGLETONS: Final = "flatten.singleton.unions"
FLATTEN_SINGLETONS_ONCE: Final = "flatten.singleton.union"
"""As some versions of the converter spell it."""

_SUM_TYPES: Final = "generalized.sum.type.support"
_ENCODING: Final = "apicurio.registry.avro.encoding"

_OF_CACHES: Final = ("schemas.cache.config", "schemas.cache.size")
_OF_WRITERS: Final = (
    "scrub.invalid.names",
    "allow.optional.map.keys",
    "avro.codec",
    "avro.remove.java.properties",
    "avro.reflection.allow.null",
    "use.schema.id",
    "propagate.schema.tags",
    "key.schema.id.serializer",
    "value.schema.id.serializer",
    "apicurio.registry.converter.serializer",
    "apicurio.registry.avro-datum-provider",
)
_OF_VERSIONS: Final = ("use.latest.version", "use.latest.with.metadata")
_OF_JAVA: Final = (
    "schema.reflection",
    "specific.avro.reader",
    "avro.use.logical.type.converters",
    "apicurio.registry.use-specific-avro-reader",
    "apicurio.registry.converter.deserializer",
    "apicurio.registry.headers.handler",
    "apicurio.registry.schema-resolver",
)


def read_confluent_avro(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options of ``io.confluent.connect.avro.AvroConverter``."""
    _read(options)
    options.boolean(FLATTEN_SINGLETONS, options.boolean(FLATTEN_SINGLETONS_ONCE, True))
    if options.boolean(_SUM_TYPES, False):
        options.refuse_value(
            _SUM_TYPES,
            "floe reads enums as text and unions as structs named by their branches: set it to false, which is its default",
        )
    check_ids(options, role)
    return spec_with_registry(options, role, AVRO, "confluent")


def read_apicurio_avro(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options of ``io.apicurio.registry.utils.converter.AvroConverter``."""
    _read(options)
    if options.text(_ENCODING).upper() == "JSON":
        options.refuse_value(
            _ENCODING, "floe reads Avro's binary encoding: set it to BINARY, and have producers use it"
        )
    return spec_with_registry(options, role, AVRO, "apicurio")


def _read(options: OptionReader) -> None:
    """Read the options that both have."""
    options.boolean(ENHANCED_SUPPORT, False)
    options.boolean(CONNECT_METADATA, True)
    read_nullables(options)
    options.ignore(("discard.type.doc.default",), "columns have no documentation of the schema")
    options.ignore(_OF_CACHES, "floe keeps the last 1,000 schemas")
    options.ignore(_OF_WRITERS, "it is for writing records")
    options.ignore(_OF_VERSIONS, "each record is read by the schema that it was written with")
    options.ignore(_OF_JAVA, "it names what only Java has, and changes no value")


CLASSES: Final[dict[str, ConverterClass]] = {
    "io.confluent.connect.avro.AvroConverter": ConverterClass(KEYS_AND_VALUES, read_confluent_avro),
    "io.apicurio.registry.utils.converter.AvroConverter": ConverterClass(KEYS_AND_VALUES, read_apicurio_avro),
}
"""By Java class."""
