"""One message after the other into what is in it, by the ``protobuf`` library: the exact way, and the slow one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from floe_job.convert.protobuf.descriptors import Field, Message, is_map, wire_fields
from floe_job.convert.protobuf.packages import package
from floe_job.exceptions import Malformed

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
