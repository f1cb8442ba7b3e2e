"""The options of the Protobuf converters of Confluent and of Apicurio."""

from __future__ import annotations

from typing import Final

from floe.config.converters.base import KEYS_AND_VALUES, ConverterClass, ConverterSpec, Role
from floe.config.converters.kinds import PROTOBUF
from floe.config.converters.with_registry import check_ids, read_nullables, spec_with_registry
from floe.config.keys.reader import OptionReader

FULL_NAMES: Final = "enhanced.protobuf.schema.support"
ENUMS_AS_NUMBERS: Final = "int.for.enums"
OPTIONAL_FOR_NULLABLES: Final = "optional.for.nullables"
OPTIONAL_FOR_PROTO2: Final = "optional.for.proto2"
WRAPPER_FOR_NULLABLES: Final = "wrapper.for.nullables"
UNWRAP: Final = "wrapper.for.raw.primitives"
FLATTEN_UNIONS: Final = "flatten.unions"
UNION_INDEX: Final = "generate.index.for.unions"

DEFAULTS: Final = {
    FULL_NAMES: False,
    ENUMS_AS_NUMBERS: False,
    OPTIONAL_FOR_NULLABLES: False,
    OPTIONAL_FOR_PROTO2: True,
    WRAPPER_FOR_NULLABLES: False,
    UNWRAP: True,
    FLATTEN_UNIONS: False,
    UNION_INDEX: True,
}
"""The options of Confluent's converter that change what a schema means."""

_REFUSED: Final = {
    "generalized.sum.type.support": "floe reads enums as text and unions as structs named by their oneof",
    "generate.struct.for.nulls": "floe reads a message that is not there as null",
}

_OF_CACHES: Final = ("schemas.cache.config", "schemas.cache.size")
_OF_WRITERS: Final = (
    "scrub.invalid.names",
    "skip.known.types",
    "use.schema.id",
    "propagate.schema.tags",
    "key.schema.id.serializer",
    "value.schema.id.serializer",
    "apicurio.registry.converter.serializer",
)
_OF_VERSIONS: Final = ("use.latest.version", "use.latest.with.metadata")
_OF_JAVA: Final = (
    "specific.protobuf.key.type",
    "specific.protobuf.value.type",
    "derive.type",
    "schema.reflection",
    "apicurio.registry.converter.deserializer",
    "apicurio.registry.headers.handler",
    "apicurio.registry.schema-resolver",
)


def read_confluent_protobuf(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options of ``io.confluent.connect.protobuf.ProtobufConverter``."""
    for name, default in DEFAULTS.items():
        options.boolean(name, default)
    for name, why in _REFUSED.items():
        if options.boolean(name, False):
            options.refuse_value(name, f"{why}: set it to false, which is its default")
    read_nullables(options)
    _ignore(options)
    check_ids(options, role)
    return spec_with_registry(options, role, PROTOBUF, "confluent")


def read_apicurio_protobuf(options: OptionReader, role: Role) -> ConverterSpec:
    """Read the options of ``io.apicurio.registry.utils.converter.ProtobufConverter``, which version 3 has."""
    _ignore(options)
    return spec_with_registry(options, role, PROTOBUF, "apicurio")


def _ignore(options: OptionReader) -> None:
    options.ignore(_OF_CACHES, "floe keeps the last 1,000 schemas")
    options.ignore(_OF_WRITERS, "it is for writing records")
    options.ignore(_OF_VERSIONS, "each record is read by the schema that it was written with")
    options.ignore(_OF_JAVA, "it names what only Java has, and changes no value")


CLASSES: Final[dict[str, ConverterClass]] = {
    "io.confluent.connect.protobuf.ProtobufConverter": ConverterClass(KEYS_AND_VALUES, read_confluent_protobuf),
    "io.apicurio.registry.utils.converter.ProtobufConverter": ConverterClass(KEYS_AND_VALUES, read_apicurio_protobuf),
}
"""By Java class."""
