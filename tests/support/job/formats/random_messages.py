"""Random Protobuf schemas, and messages of them in all the ways that the wire allows."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from floe.schema_registry.schema import RegisteredSchema, SchemaReference, SchemaText

Field = descriptor_pb2.FieldDescriptorProto
SCALARS = tuple(kind for kind in range(1, 19) if kind not in (Field.TYPE_GROUP, Field.TYPE_MESSAGE))
KEYS = tuple(
    kind for kind in SCALARS if kind not in (Field.TYPE_DOUBLE, Field.TYPE_FLOAT, Field.TYPE_BYTES, Field.TYPE_ENUM)
)
TEXTS = ("", "a", "é", "snow ☃ and 🍕", "x" * 200, "\x00", "abc" * 9)
NUMBERS = (0, 1, -1, 127, 128, 2**31 - 1, -(2**31), 2**32 - 1, 2**63 - 1, -(2**63))


def registered(text: str, **references: str) -> RegisteredSchema:
    """Return a Protobuf schema with others that it refers to, each a name (``_`` for ``/``) and a text."""
    named = ((name.replace("_", "/") + ".proto", one) for name, one in references.items())
    others = ((SchemaReference(name, name, "1"), SchemaText("PROTOBUF", one)) for name, one in named)
    return RegisteredSchema(SchemaText("PROTOBUF", text), tuple(others))


def encoded(file: Any) -> str:
    """Return a file as Python's serializer registers it: its descriptor in base64."""
    return base64.b64encode(file.SerializeToString()).decode()


@dataclass
class Schemas:
    """Makes files with one message ``R`` from one source of chance."""

    random: Random
    syntax: str = "proto3"
    has_oneofs: bool = True
    _names: int = field(default=0)

    def file(self) -> Any:
        """Make a file."""
        made = descriptor_pb2.FileDescriptorProto(name="random.proto", package="r", syntax=self.syntax)
        kind = made.enum_type.add(name="E")
        for name, number in (("NONE", 0), ("ONE", 1), ("MINUS", -3), ("MANY", 1000)):
            kind.value.add(name=name, number=number)
        self._fill(made.message_type.add(name="R"), 0, ".r.R")
        return made

    def _fill(self, message: Any, depth: int, name: str) -> None:
        for _ in range(self.random.randrange(0 if depth else 1, 6)):
            getattr(
                self, f"_{self.random.choice(('plain', 'plain', 'optional', 'repeated', 'map', 'oneof', 'message'))}"
            )(message, depth, name)

    def _number(self, message: Any) -> dict[str, Any]:
        self._names += 1
        number = len(message.field) + 1 + self.random.choice((0, 0, 0, 15, 3000))
        taken = {one.number for one in message.field}
        while number in taken:
            number += 1
        return {"name": f"f{self._names}", "number": number}

    def _typed(self, one: Any, kinds: tuple[int, ...] = SCALARS) -> Any:
        one.type = self.random.choice(kinds)
        if one.type == Field.TYPE_ENUM:
            one.type_name = ".r.E"
        return one

    def _plain(self, message: Any, depth: int, name: str) -> None:
        self._typed(message.field.add(label=Field.LABEL_OPTIONAL, **self._number(message)))

    def _optional(self, message: Any, depth: int, name: str) -> None:
        one = self._typed(message.field.add(label=Field.LABEL_OPTIONAL, **self._number(message)))
        if self.syntax == "proto3":
            one.proto3_optional = True
        elif self.random.random() < 0.2:
            one.label = Field.LABEL_REQUIRED
        elif one.type in (Field.TYPE_INT32, Field.TYPE_STRING):
            one.default_value = "7"

    def _repeated(self, message: Any, depth: int, name: str) -> None:
        self._typed(message.field.add(label=Field.LABEL_REPEATED, **self._number(message)))

    def _message(self, message: Any, depth: int, name: str) -> None:
        if depth < 3:
            label = self.random.choice((Field.LABEL_OPTIONAL, Field.LABEL_REPEATED))
            one = message.field.add(label=label, type=Field.TYPE_MESSAGE, **self._number(message))
            self._inner(message, one, depth, name)

    def _inner(self, message: Any, one: Any, depth: int, name: str) -> None:
        inner = message.nested_type.add(name=f"M{one.name}")
        one.type, one.type_name = Field.TYPE_MESSAGE, f"{name}.{inner.name}"
        self._fill(inner, depth + 1, one.type_name)

    def _map(self, message: Any, depth: int, name: str) -> None:
        numbered = self._number(message)
        entry = message.nested_type.add(name=f"{numbered['name'].capitalize()}Entry")
        entry.options.map_entry = True
        self._typed(entry.field.add(name="key", number=1, label=Field.LABEL_OPTIONAL), KEYS)
        value = entry.field.add(name="value", number=2, label=Field.LABEL_OPTIONAL)
        if depth < 2 and self.random.random() < 0.3:
            self._inner(message, value, depth, name)
            message.nested_type[-1].name = f"V{entry.name}"
            value.type_name = f"{name}.V{entry.name}"
            del message.nested_type[-1].field[:]
            del message.nested_type[-1].nested_type[:]
            del message.nested_type[-1].oneof_decl[:]
            self._plain(message.nested_type[-1], depth, name)
        else:
            self._typed(value)
        message.field.add(
            label=Field.LABEL_REPEATED, type=Field.TYPE_MESSAGE, type_name=f"{name}.{entry.name}", **numbered
        )

    def _oneof(self, message: Any, depth: int, name: str) -> None:
        if not self.has_oneofs:
            return
        index = len(message.oneof_decl)
        message.oneof_decl.add(name=f"o{index}_{self._names}")
        for _ in range(self.random.randrange(1, 4)):
            one = message.field.add(label=Field.LABEL_OPTIONAL, oneof_index=index, **self._number(message))
            if depth < 2 and self.random.random() < 0.3:
                self._inner(message, one, depth, name)
            else:
                self._typed(one)


def complete(file: Any) -> Any:
    """Give the fields of proto3 that are marked ``optional`` the oneofs that protoc makes for them."""
    for message in file.message_type:
        _complete(message)
    return file


def _complete(message: Any) -> None:
    for one in message.field:
        if one.proto3_optional:
            one.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{one.name}")
    for inner in message.nested_type:
        _complete(inner)


def message_class(file: Any, name: str = "r.R") -> Any:
    """Return the class of a message of a file that imports nothing."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


@dataclass
class Messages:
    """Makes the bytes of messages of one class."""

    random: Random
    of: Any

    def bytes(self) -> bytes:
        """Write a message: whole, in parts that are merged when they are read, with fields that the schema has not."""
        parts = [self._filled(self.of()).SerializePartialToString() for _ in range(self.random.choice((1, 1, 1, 2, 3)))]
        if self.random.random() < 0.2:
            parts.insert(self.random.randrange(len(parts) + 1), self.random.choice(_UNKNOWN))
        whole = b"".join(parts)
        return b"".join(self.random.sample(pieces, len(pieces))) if (pieces := self._pieces(whole)) else whole

    def _pieces(self, whole: bytes) -> list[bytes]:
        """Divide a message at its top-level fields, so that they can be written in another order."""
        if self.random.random() < 0.7:
            return []
        return list(pieces(whole))

    def _filled(self, message: Any) -> Any:
        for one in message.DESCRIPTOR.fields:
            if one.is_required or self.random.random() < 0.7:
                self._fill(message, one)
        return message

    def _fill(self, message: Any, one: Any) -> None:
        if one.message_type is not None and one.message_type.GetOptions().map_entry:
            self._fill_map(message, one)
        elif one.is_repeated:
            for _ in range(self.random.choice((0, 1, 2, 5))):
                if one.message_type is not None:
                    self._filled(getattr(message, one.name).add())
                else:
                    getattr(message, one.name).append(self.value(one))
        elif one.message_type is not None:
            getattr(message, one.name).SetInParent()
            self._filled(getattr(message, one.name))
        else:
            setattr(message, one.name, self.value(one))

    def _fill_map(self, message: Any, one: Any) -> None:
        key, value = one.message_type.fields
        for _ in range(self.random.choice((0, 1, 3))):
            if value.message_type is not None:
                self._filled(getattr(message, one.name)[self.value(key)])
            else:
                getattr(message, one.name)[self.value(key)] = self.value(value)

    def value(self, one: Any) -> Any:
        """Make a value of a field that is no message."""
        if one.enum_type is not None:
            numbers = [value.number for value in one.enum_type.values]
            return self.random.choice(numbers if one.enum_type.is_closed else [*numbers, 7, -9])
        if one.type == one.TYPE_STRING:
            return self.random.choice(TEXTS)
        if one.type == one.TYPE_BYTES:
            return self.random.randbytes(self.random.randrange(5))
        if one.type == one.TYPE_BOOL:
            return self.random.random() < 0.5
        if one.type in (one.TYPE_DOUBLE, one.TYPE_FLOAT):
            return self.random.choice((0.0, -0.0, 1.5, float("inf"), -3.25e10))
        wide = one.type in (one.TYPE_INT64, one.TYPE_UINT64, one.TYPE_SINT64, one.TYPE_FIXED64, one.TYPE_SFIXED64)
        unsigned = one.type in (one.TYPE_UINT32, one.TYPE_UINT64, one.TYPE_FIXED32, one.TYPE_FIXED64)
        least = 0 if unsigned else -(2 ** (63 if wide else 31))
        most = 2 ** (63 if wide else 32 if unsigned else 31) - 1
        return self.random.choice([number for number in NUMBERS if least <= number <= most])


_UNKNOWN = (
    b"\xf8\xff\x01\x05",
    b"\xfa\xff\x01\x03abc",
    b"\xfd\xff\x01\x01\x02\x03\x04",
    b"\xf9\xff\x01\x01\x02\x03\x04\x05\x06\x07\x08",
    b"\xfb\xff\x01\x08\x01\xfc\xff\x01",
)
"""Fields with the number 4095, of each kind of the wire."""


def pieces(whole: bytes) -> Iterator[bytes]:
    """Return the top-level fields of a message, one after the other; none if it has groups."""
    found, pos = [], 0
    while pos < len(whole):
        start = pos
        tag, pos = _varint(whole, pos)
        if tag & 7 in (3, 4):
            return
        if tag & 7 == 0:
            _, pos = _varint(whole, pos)
        elif tag & 7 == 2:
            size, pos = _varint(whole, pos)
            pos += size
        else:
            pos += 8 if tag & 7 == 1 else 4
        found.append(whole[start:pos])
    yield from found


def _varint(whole: bytes, pos: int) -> tuple[int, int]:
    found = shift = 0
    while whole[pos] > 127:
        found |= (whole[pos] & 127) << shift
        shift += 7
        pos += 1
    return found | whole[pos] << shift, pos + 1
