"""The options of the Protobuf converters that change what a schema means."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProtobufOptions:
    """Options of Confluent's ProtobufConverter.

    ``full_names`` (``enhanced.protobuf.schema.support``): schemas have the full names of messages and enums.
    ``enums_as_numbers`` (``int.for.enums``). ``optional_for_nullables`` (``optional.for.nullables``): only what the schema
    marks ``optional`` is optional, and messages, enums and arrays. ``optional_for_proto2`` (``optional.for.proto2``): an
    optional field of proto2 that is not there is null, and not its default. ``wrapper_for_nullables``
    (``wrapper.for.nullables``): only wrappers are optional, and messages, enums and arrays. ``unwrap``
    (``wrapper.for.raw.primitives``): a wrapper is its value. ``flatten_unions`` (``flatten.unions``): the fields of a oneof
    are fields of the message. ``union_index`` (``generate.index.for.unions``): the name of a oneof's struct ends with its
    index.

    ``apicurio``: the rules of Apicurio's converter, which has none of these options.
    """

    full_names: bool = False
    enums_as_numbers: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    unwrap: bool = True
    flatten_unions: bool = False
    union_index: bool = True
    apicurio: bool = False
