"""What is between the id of a schema and a message: which of the schema's messages it is.

Confluent's serializers write indexes: how many, then each, as zigzag numbers; a single 0 for the first message. Apicurio's
write the name, as a message ``Ref`` behind its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

import numpy as np

from floe_job.convert.protobuf.descriptors import Key
from floe_job.convert.typed.base import Places

MAX_INDEXES: Final = 64
FIRST: Final[Key] = (0,)

_KINDS_AT_ONCE: Final = 16
"""Messages of one schema that are looked for in all records at once; further ones record by record."""
_LONGEST: Final = 512
_NAME_TAG: Final = 0x0A

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class MessageReference(Enum):
    """How a record says which message it is."""

    INDEXES = "indexes"
    """Confluent's serializers."""

    NAME = "name"
    """Apicurio's serializers."""


class MessageGroup(NamedTuple):
    """Records of one message: their places in what was given, and where each message begins."""

    key: Key
    places: Places
    starts: Places


@dataclass(frozen=True)
class MessageFrames:
    """Records by message. ``bad``: the place of those that do not say which, and the reason."""

    groups: tuple[MessageGroup, ...]
    bad: tuple[tuple[int, str], ...]


def split_messages(data: Bytes, starts: Places, ends: Places, kind: MessageReference) -> MessageFrames:
    """Divide records of one schema by the message that they are."""
    read = _read_indexes if kind is MessageReference.INDEXES else _read_name
    groups: dict[Key, list[tuple[Places, int]]] = {}
    bad: list[tuple[int, str]] = []
    left = np.arange(len(starts))
    for round_number in range(len(starts)):
        if not len(left):
            break
        first = int(left[0])
        prefix = data[int(starts[first]) : min(int(ends[first]), int(starts[first]) + _LONGEST)].tobytes()
        here = left[:1]
        try:
            key, size = read(prefix)
        except ValueError as error:
            bad.append((first, str(error)))
            left = left[1:]
            continue
        if round_number >= _KINDS_AT_ONCE:
            left = left[1:]
        else:
            same = _same(data, starts[left], ends[left], prefix[:size])
            here, left = left[same], left[~same]
        groups.setdefault(key, []).append((here, size))
    found = []
    for key, parts in groups.items():
        places = np.concatenate([here for here, _ in parts])
        begin = np.concatenate([starts[here] + size for here, size in parts])
        order = np.argsort(places, kind="stable")
        found.append(MessageGroup(key, places[order], begin[order]))
    return MessageFrames(tuple(found), tuple(sorted(bad)))


def _same(data: Bytes, starts: Places, ends: Places, prefix: bytes) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which records begin with some bytes."""
    same = ends - starts >= len(prefix)
    for at, byte in enumerate(prefix):
        same &= data[np.minimum(starts + at, len(data) - 1)] == byte
    return same


def _read_indexes(prefix: bytes) -> tuple[Key, int]:
    count, pos = _zigzag(prefix, 0)
    if not 0 <= count <= MAX_INDEXES:
        problem = (
            f"it has {count} indexes of messages: it was not written by a Protobuf serializer with a schema registry"
        )
        raise ValueError(problem)
    indexes = []
    for _ in range(count):
        index, pos = _zigzag(prefix, pos)
        indexes.append(index)
    return tuple(indexes) or FIRST, pos


def _read_name(prefix: bytes) -> tuple[Key, int]:
    try:
        size, pos = _varint(prefix, 0)
        length, begin = _varint(prefix, pos + 1)
    except ValueError:
        size = length = pos = begin = -1
    end = begin + length
    if size < 0 or prefix[pos] != _NAME_TAG or end != pos + size or end > len(prefix):
        problem = "it does not begin with the name of its message, as Apicurio's Protobuf serializer writes it"
        raise ValueError(problem)
    return prefix[begin:end].decode(), end


def _zigzag(prefix: bytes, pos: int) -> tuple[int, int]:
    value, pos = _varint(prefix, pos)
    return (value >> 1) ^ -(value & 1), pos


def _varint(prefix: bytes, pos: int) -> tuple[int, int]:
    found = 0
    for at, byte in enumerate(prefix[pos : pos + 5]):
        found |= (byte & 127) << 7 * at
        if byte < 128:
            return found, pos + at + 1
    problem = "it ends within the indexes of its message"
    raise ValueError(problem)
