"""What descriptors say of messages and fields, beside what they say by themselves."""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from types import ModuleType
from typing import Any, Final, NoReturn

from floe_job.exceptions import VALUE_LENGTH, PackageMissing, UnusableSchema, clip

Message = Any
"""A ``google.protobuf.descriptor.Descriptor``, of whichever implementation."""
Field = Any
"""A ``google.protobuf.descriptor.FieldDescriptor``."""
Key = tuple[int, ...] | str
"""Which message of a file a record is: by the indexes on the way to it, or by its name."""

_META_FIELD = 1088
_PARAMS_FIELD = 2


def message_of(file: Any, key: Key) -> Message:
    """Return a message of a file; map entries do not count. Raises UnusableSchema."""
    if isinstance(key, str):
        if key not in file.message_types_by_name:
            refuse(f"the schema has no message {shown(key)}")
        return file.message_types_by_name[key]
    proto = _declared(file)
    name, inside = proto.package, proto.message_type
    for index in key:
        messages = [one for one in inside if not one.options.map_entry]
        if not 0 <= index < len(messages):
            refuse(f"the schema has no message at the indexes {list(key)}")
        name = f"{name}.{messages[index].name}" if name else messages[index].name
        inside = messages[index].nested_type
    return file.pool.FindMessageTypeByName(name)


@lru_cache(maxsize=4)
def _declared(file: Any) -> Any:
    """Return a file as it is declared: records may name messages that it does not have, each another one."""
    return package("google.protobuf.descriptor_pb2").FileDescriptorProto.FromString(file.serialized_pb)


def wire_fields(message: Message) -> list[Field]:
    """Return the fields of a message in the order of their numbers, which is that of its columns on the wire."""
    return sorted(message.fields, key=lambda field: int(field.number))


def is_map(field: Field) -> bool:
    """Return whether a field is a map."""
    return bool(field.message_type is not None and field.is_repeated and field.message_type.GetOptions().map_entry)


def is_group(field: Field) -> bool:
    """Return whether a message is between tags, and not behind its length."""
    return bool(field.type == field.TYPE_GROUP)


class Declaration:
    """What only the declaration of a message tells: which fields are marked ``optional``, and which oneofs are real."""

    def __init__(self, message: Message, *, is_proto2: bool) -> None:
        proto = package("google.protobuf.descriptor_pb2").DescriptorProto()
        message.CopyToProto(proto)
        self._fields = {one.name: one for one in proto.field}
        self._is_proto2 = is_proto2
        self._oneofs = message.oneofs
        self._places = {field.number: place for place, field in enumerate(wire_fields(message))}

    def place(self, field: Field) -> int:
        """Return which column a field is on the wire."""
        return self._places[field.number]

    def is_proto3_optional(self, field: Field) -> bool:
        """Return whether a field of proto3 is marked ``optional``."""
        return bool(self._fields[field.name].proto3_optional)

    def has_optional_keyword(self, field: Field) -> bool:
        """Return whether a field is marked ``optional``."""
        if self.is_proto3_optional(field):
            return True
        is_plain = not field.is_repeated and not field.is_required and field.containing_oneof is None
        return self._is_proto2 and is_plain

    def oneof(self, field: Field) -> Any:
        """Return the oneof that a field is in; None for one that ``optional`` makes."""
        return None if self.is_proto3_optional(field) else field.containing_oneof

    def oneofs(self) -> Iterator[tuple[int, Any]]:
        """Return the real oneofs, with their indexes."""
        for index, oneof in enumerate(self._oneofs):
            if any(not self.is_proto3_optional(field) for field in oneof.fields):
                yield index, oneof

    def json_name(self, field: Field) -> str:
        """Return the name that a field has in JSON; empty if the schema gives none."""
        return str(self._fields[field.name].json_name)


class Declarations:
    """The declarations of messages."""

    def __init__(self) -> None:
        self._is_proto2: dict[str, bool] = {}

    def of(self, message: Message) -> Declaration:
        """Return that of a message."""
        file = message.file
        if file.name not in self._is_proto2:
            proto = package("google.protobuf.descriptor_pb2").FileDescriptorProto.FromString(file.serialized_pb)
            self._is_proto2[file.name] = proto.syntax in ("", "proto2")
        return Declaration(message, is_proto2=self._is_proto2[file.name])


def connect_parameters(field: Field) -> dict[str, str]:
    """Return the parameters that Connect's option of a field has, ``confluent.field_meta``."""
    if not field.has_options:
        return {}
    return dict(_options(field.GetOptions().SerializeToString()).meta.params)


def connect_options(options: bytes) -> bytes:
    """Return what Connect's option of a field is in its serialized options, without all others."""
    found = _options(options)
    found.DiscardUnknownFields()
    return bytes(found.SerializeToString())


def _options(options: bytes) -> Any:
    """Parse options; those of another schema that have the number of Connect's say nothing."""
    try:
        return _meta_class().FromString(options)
    except package("google.protobuf.message").DecodeError:
        return _meta_class()()


def _meta_class() -> Any:
    """Return the class of a message that has, of a field's options, only Connect's."""
    if not _made:
        descriptors = package("google.protobuf.descriptor_pb2")
        kinds = descriptors.FieldDescriptorProto
        file = descriptors.FileDescriptorProto(name="floe-meta.proto", syntax="proto3", package="floe")
        entry = {"name": "ParamsEntry", "options": {"map_entry": True}}
        meta = file.message_type.add(name="Meta")
        meta.field.add(name="params", number=_PARAMS_FIELD, type=11, label=3, type_name=".floe.Meta.ParamsEntry")
        nested = meta.nested_type.add(**entry)
        for number, name in enumerate(("key", "value"), 1):
            nested.field.add(name=name, number=number, type=kinds.TYPE_STRING, label=1)
        options = file.message_type.add(name="Options")
        options.field.add(name="meta", number=_META_FIELD, type=11, label=1, type_name=".floe.Meta")
        pool = package("google.protobuf.descriptor_pool").DescriptorPool()
        pool.Add(file)
        factory = package("google.protobuf.message_factory")
        _made.append(factory.GetMessageClass(pool.FindMessageTypeByName("floe.Options")))
    return _made[0]


_made: list[Any] = []


# What is refused of schemas, whatever a registry has.


MAX_FIELDS: Final = 5_000
"""Values that one record may have beside the elements of arrays and maps: each use of a message counts."""

MAX_DEPTH: Final = 64
"""Messages in each other."""


def refuse(problem: str) -> NoReturn:
    """Raise UnusableSchema."""
    raise UnusableSchema(problem)


def shown(value: object) -> str:
    """Return a value of a schema as messages have it."""
    return clip(repr(value), VALUE_LENGTH)


# The packages that only Protobuf needs.


log = logging.getLogger(__name__)

REQUIREMENTS: Final = "airflow-provider-floe[protobuf]"


def package(module: str) -> ModuleType:
    """Import a module. Raises PackageMissing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        problem = (
            f"Protobuf records cannot be read here: {error}. Nothing was announced. Install {REQUIREMENTS} where Spark's "
            "workers run"
        )
        raise PackageMissing(problem) from None


@cache
def optional_package(module: str, without: str) -> ModuleType | None:
    """Import a module that floe can do without; if it is not there, say so once. ``without``: what is so without it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        log.warning("%s: %s. Install %s where Spark's workers run", without, error, REQUIREMENTS)
        return None


# The options of the Protobuf converters that change what a schema means.


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
