"""A message as its bytes are: what is there, without names and meanings.

Both ways of reading give a struct with a field ``f0``, ``f1``, … for each field of the message, by number. A field that
may be absent is null then; a map is a list of entries, an enum a number. Well-known types are messages like others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import pyarrow as pa

from floe_job.convert.protobuf.descriptors import Field, Message, is_group, wire_fields
from floe_job.convert.protobuf.limits import MAX_DEPTH, MAX_FIELDS, refuse, shown
from floe_job.convert.protobuf.packages import package

WIRE_FILE: Final = "floe-wire.proto"
ROOT: Final = "M0"

_LAST_NUMBER: Final = 536_870_911
"""The number of the field that a message without fields has: a struct needs one."""

_SCALARS: Final = {
    "TYPE_DOUBLE": pa.float64(),
    "TYPE_FLOAT": pa.float32(),
    "TYPE_INT64": pa.int64(),
    "TYPE_SINT64": pa.int64(),
    "TYPE_SFIXED64": pa.int64(),
    "TYPE_UINT64": pa.uint64(),
    "TYPE_FIXED64": pa.uint64(),
    "TYPE_INT32": pa.int32(),
    "TYPE_SINT32": pa.int32(),
    "TYPE_SFIXED32": pa.int32(),
    "TYPE_ENUM": pa.int32(),
    "TYPE_UINT32": pa.uint32(),
    "TYPE_FIXED32": pa.uint32(),
    "TYPE_BOOL": pa.bool_(),
    "TYPE_STRING": pa.large_string(),
    "TYPE_BYTES": pa.large_binary(),
}


@dataclass
class WireSchema:
    """What messages of one type are on the wire.

    ``file``: a FileDescriptorProto of messages that are read alike; ``type``: the Arrow type. ``has_groups``: such
    messages are read one by one. ``fields``: how many values a record makes beside elements; ``widest``: how many an
    element of a repeated message makes at most.
    """

    file: Any
    type: pa.StructType = field(default_factory=lambda: pa.struct([]))
    has_groups: bool = False
    fields: int = 0
    widest: int = 1
    _names: dict[str, str] = field(default_factory=dict)
    _types: dict[str, tuple[pa.StructType, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, message: Message) -> WireSchema:
        """Describe a message. Raises UnusableSchema for one that contains itself, or is too large."""
        descriptors = package("google.protobuf.descriptor_pb2")
        made = cls(descriptors.FileDescriptorProto(name=WIRE_FILE, syntax="proto3"))
        made.type, made.fields = made._message(message, ())
        return made

    def _message(self, message: Message, path: tuple[str, ...]) -> tuple[pa.StructType, int]:
        name = message.full_name
        if name in path:
            refuse(f"the schema is recursive: {shown(name)} contains itself, and a table's columns cannot")
        if len(path) >= MAX_DEPTH:
            refuse(f"the schema has more than {MAX_DEPTH} levels")
        if name not in self._types:
            self._names[name] = f"M{len(self._names)}"
            declared = self.file.message_type.add(name=self._names[name])
            fields, count = [], 1
            for place, one in enumerate(wire_fields(message)):
                kind, values = self._field(one, (*path, name))
                count += values
                fields.append(pa.field(f"f{place}", kind))
                self._declare(declared, f"f{place}", one)
            if not fields:
                fields.append(pa.field("f0", pa.int32()))
                declared.field.add(name="f0", number=_LAST_NUMBER, type="TYPE_INT32", label="LABEL_OPTIONAL")
            self._types[name] = pa.struct(fields), count
        kind, count = self._types[name]
        if count > MAX_FIELDS:
            refuse(f"the schema has more than {MAX_FIELDS} fields")
        return kind, count

    def _field(self, one: Field, path: tuple[str, ...]) -> tuple[pa.DataType, int]:
        count = 1
        if one.message_type is None:
            kind = scalar_type(one)
        else:
            self.has_groups |= is_group(one)
            kind, count = self._message(one.message_type, path)
        if not one.is_repeated:
            return kind, count
        self.widest = max(self.widest, count)
        return pa.large_list(kind), count + 1

    def _declare(self, message: Any, name: str, one: Field) -> None:
        number, kind = one.number, type_name(one)
        label = "LABEL_REPEATED" if one.is_repeated else "LABEL_OPTIONAL"
        if one.message_type is not None:
            inner = f".{self._names[one.message_type.full_name]}"
            message.field.add(name=name, number=number, type="TYPE_MESSAGE", label=label, type_name=inner)
            return
        kind = "TYPE_INT32" if kind == "TYPE_ENUM" else kind
        made = message.field.add(name=name, number=number, type=kind, label=label)
        if one.has_presence and not one.is_repeated:
            made.proto3_optional = True
            made.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{name}")


def scalar_type(one: Field) -> pa.DataType:
    """Return the Arrow type of a field that is no message, on the wire."""
    return _SCALARS[type_name(one)]


def type_name(one: Field) -> str:
    """Return the type of a field, as descriptors name it."""
    kinds = package("google.protobuf.descriptor_pb2").FieldDescriptorProto.Type
    return str(kinds.Name(one.type))
