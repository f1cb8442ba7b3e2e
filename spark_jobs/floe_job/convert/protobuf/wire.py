"""Many messages at once into a struct of what is in them, by ``ptars``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.convert.protobuf.descriptors import (
    MAX_DEPTH,
    MAX_FIELDS,
    Field,
    Message,
    is_group,
    is_map,
    optional_package,
    package,
    refuse,
    shown,
    wire_fields,
)
from floe_job.convert.typed.base import Places
from floe_job.exceptions import Malformed

MAX_GROUPS: Final = 10_000
"""Groups in each other that are skipped without harm: ``ptars`` overflows its stack, which ends the process, at ten times."""

_START_GROUP: Final = 3
"""The last three bits of the first byte of a tag that begins a group."""

_PANIC: Final = "PanicException"
"""The error of a Rust library that gives up; it is no ``Exception``."""


class WireReader:
    """Reads messages of one type.

    It says of a batch only that something in it cannot be read: then those that ``is_whole`` doubts are tried one by one,
    and the others together. What it does not tell is found in the columns (``floe_job.convert.protobuf.rules``).
    """

    def __init__(self, wire: WireSchema, ptars: Any, is_whole: Callable[[bytes], bool]) -> None:
        pool = package("google.protobuf.descriptor_pool").DescriptorPool()
        pool.Add(wire.file)
        config = ptars.PtarsConfig(use_large_string=True, use_large_binary=True, use_large_list=True)
        handlers = ptars.HandlerPool([pool.FindFileByName(WIRE_FILE)], config)
        self._handler = handlers.get_for_message(pool.FindMessageTypeByName(ROOT))
        self._is_whole = is_whole

    def read(self, values: pa.BinaryArray) -> Iterator[tuple[Places, pa.StructArray]]:
        """Return messages that can be read, in parts, with their indices; what is in no part cannot be read here."""
        places = np.delete(np.arange(len(values)), self._too_deep(values))
        together = self._batch(values if len(places) == len(values) else values.take(pa.array(places)))
        if together is not None:
            yield places, together
        elif len(places) > 1:
            whole = np.array([self._is_whole(values[place].as_py()) for place in places.tolist()], np.bool_)
            for doubted in np.flatnonzero(~whole).tolist():
                yield from self._read(values, places[doubted : doubted + 1])
            yield from self._read(values, places[whole])

    def _too_deep(self, values: pa.BinaryArray) -> list[int]:
        """Return those that may have too many groups in each other, where the other library refuses them too."""
        large = np.flatnonzero(pc.binary_length(values).to_numpy(zero_copy_only=False) > MAX_GROUPS)
        return [place for place in large.tolist() if self._may_overflow(values[place].as_py())]

    def _may_overflow(self, value: bytes) -> bool:
        groups = np.count_nonzero(np.frombuffer(value, np.uint8) & 7 == _START_GROUP)
        return bool(groups > MAX_GROUPS) and not self._is_whole(value)

    def _read(self, values: pa.BinaryArray, places: Places) -> Iterator[tuple[Places, pa.StructArray]]:
        """Read some messages; their halves one after the other where that fails."""
        batch = self._batch(values.take(pa.array(places))) if len(places) else None
        if batch is not None:
            yield places, batch
        elif len(places) > 1:
            half = len(places) // 2
            yield from self._read(values, places[:half])
            yield from self._read(values, places[half:])

    def _batch(self, values: pa.BinaryArray) -> pa.StructArray | None:
        try:
            return self._handler.array_to_record_batch(values).to_struct_array()
        except ValueError:
            return None
        except BaseException as error:
            if type(error).__name__ != _PANIC:
                raise
            return None


def wire_reader(wire: WireSchema, is_whole: Callable[[bytes], bool]) -> WireReader | None:
    """Return a reader of messages; None where they are read one by one."""
    if wire.has_groups:
        return None
    ptars = optional_package("ptars", "Protobuf records are read one by one, which is slow")
    return None if ptars is None else WireReader(wire, ptars, is_whole)


# How many values a record makes: one with many empty messages makes far more of them than it has bytes.


MAX_VALUES: Final = 10_000_000
"""Values of Arrow's, elements of repeated fields included, that one record may make."""


class RecordSizes:
    """Counts the values of records."""

    def __init__(self, message: Message, wire: WireSchema) -> None:
        self._message = message
        self._fields = wire.fields
        self._widest = wire.widest

    def problem(self, value: pa.Scalar) -> str:
        """Return why a record is too large; empty where it is not.

        An element takes two bytes at least. What that does not decide is counted: elements by the bytes of their tags.
        """
        nbytes = value.as_buffer().size
        if self._fields + nbytes // 2 * self._widest <= MAX_VALUES:
            return ""
        if self._fields + self._elements(value.as_py()) * self._widest <= MAX_VALUES:
            return ""
        return f"the value: it may have more than {MAX_VALUES} values in its repeated fields"

    def _elements(self, value: bytes) -> int:
        """Return a number that the elements of repeated messages do not exceed: how often their tags are in the bytes."""
        data = np.frombuffer(value, np.uint8)
        return sum(_count(data, tag) for tag in self._tags(self._message, set()))

    def _tags(self, message: Any, seen: set[str]) -> set[bytes]:
        if message.full_name in seen:
            return set()
        seen.add(message.full_name)
        found: set[bytes] = set()
        for member in message.fields:
            if member.message_type is not None:
                found |= self._tags(member.message_type, seen)
            if member.message_type is not None and member.is_repeated:
                found.add(_tag(member.number, 3 if member.type == member.TYPE_GROUP else 2))
        return found


def _tag(number: int, kind: int) -> bytes:
    value, found = number << 3 | kind, bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _count(data: np.ndarray[Any, np.dtype[np.uint8]], tag: bytes) -> int:
    here = data[: max(0, len(data) - len(tag) + 1)] == tag[0]
    for at, byte in enumerate(tag[1:], 1):
        here = here & (data[at : at + len(here)] == byte)
    return int(here.sum())


# One message after the other into what is in it, by the ``protobuf`` library: the exact way, and the slow one.


Row = dict[str, Any]
Reader = Callable[[Any], Any]


class MessageRows:
    """Reads messages of one type into rows of their ``WireSchema``."""

    def __init__(self, message: Message) -> None:
        maps = _map_fields(message, {})
        message = _without_maps(message)
        self._class = package("google.protobuf.message_factory").GetMessageClass(message)
        self._decode_error = package("google.protobuf.message").DecodeError
        self._row = _row_of(message, maps, {})

    def is_whole(self, value: bytes) -> bool:
        """Return whether a message can be parsed, whatever it means."""
        try:
            self._class.FromString(value)
        except self._decode_error:
            return False
        return True

    def read(self, value: bytes) -> Row:
        """Read a message. Raises Malformed."""
        try:
            message = self._class.FromString(value)
        except self._decode_error as error:
            problem = f"it is not a message of its type: {error}"
            raise Malformed(problem) from None
        missing = message.FindInitializationErrors()
        if missing:
            problem = f"it lacks the required field {', '.join(missing[:5])!r}"
            raise Malformed(problem)
        row: Row = self._row(message)
        return row


def _without_maps(message: Message) -> Message:
    """Return a message whose maps are repeated messages, as Java's ``DynamicMessage`` has them.

    The library leaves out an entry that has a field more than its key and value, or an unknown number of a closed enum.
    """
    pool = package("google.protobuf.descriptor_pool").DescriptorPool()
    seen: set[str] = set()

    def add(file: Any) -> None:
        if file.name in seen:
            return
        seen.add(file.name)
        for imported in file.dependencies:
            add(imported)
        copy = package("google.protobuf.descriptor_pb2").FileDescriptorProto.FromString(file.serialized_pb)
        for one in copy.message_type:
            _clear_map_entries(one)
        pool.Add(copy)

    add(message.file)
    return pool.FindMessageTypeByName(message.full_name)


def _clear_map_entries(message: Any) -> None:
    message.options.ClearField("map_entry")
    for inner in message.nested_type:
        _clear_map_entries(inner)


def _map_fields(message: Message, known: dict[str, set[int]]) -> dict[str, set[int]]:
    """Return the numbers of the fields that are maps, for each message by its name."""
    if message.full_name not in known:
        known[message.full_name] = {member.number for member in message.fields if is_map(member)}
        for member in message.fields:
            if member.message_type is not None:
                _map_fields(member.message_type, known)
    return known


def _row_of(message: Message, maps: dict[str, set[int]], known: dict[str, Reader]) -> Reader:
    if message.full_name not in known:
        numbers = maps[message.full_name]
        readers = [
            (f"f{place}", _reader_of(field, field.number in numbers, maps, known))
            for place, field in enumerate(wire_fields(message))
        ]
        known[message.full_name] = lambda value: {name: read(value) for name, read in readers}
    return known[message.full_name]


def _reader_of(field: Field, is_map: bool, maps: dict[str, set[int]], known: dict[str, Reader]) -> Reader:
    name = field.name
    element: Reader | None = _text_of(name) if field.type == field.TYPE_STRING else None
    if field.message_type is not None:
        element = _row_of(field.message_type, maps, known)
    if is_map:
        assert element is not None  # noqa: S101 - an entry is a message
        return _map_reader(name, element)
    if field.is_repeated:
        if element is None:
            return lambda message: list(getattr(message, name))
        return lambda message: [element(one) for one in getattr(message, name)]
    read = _getter(name) if element is None else lambda message: element(getattr(message, name))
    if not field.has_presence:
        return read
    return lambda message: read(message) if message.HasField(name) else None


def _map_reader(name: str, entry: Reader) -> Reader:
    """Return what reads a map: of a key that is there twice the last value counts."""
    return lambda message: list({one.key: entry(one) for one in getattr(message, name)}.values())


def _getter(name: str) -> Reader:
    return lambda message: getattr(message, name)


def _text_of(name: str) -> Reader:
    def text(value: Any) -> str:
        # a text of proto2 that is not UTF-8 comes as bytes
        if not isinstance(value, str):
            problem = f"field {name!r}: it is not UTF-8"
            raise Malformed(problem)
        return value

    return text


# A message as its bytes are: what is there, without names and meanings.
#
# Both ways of reading give a struct with a field ``f0``, ``f1``, … for each field of the message, by number. A field
# that may be absent is null then; a map is a list of entries, an enum a number. Well-known types are messages like
# others.


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
