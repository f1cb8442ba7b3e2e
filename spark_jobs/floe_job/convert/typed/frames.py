"""Frames of registries' serializers: a magic byte and the id of a schema before each value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

import numpy as np

from floe_job.convert.typed.base import Places
from floe_job.source.values import Packed

MAGIC: Final = 0


class Framing(Enum):
    """How many bytes the id of a schema has."""

    ID_OF_4_BYTES = 4
    """Confluent's serializers, and Apicurio's with ``Legacy4ByteIdHandler`` or as of 3."""

    ID_OF_8_BYTES = 8
    """Apicurio's serializers as of 2, by default."""

    @property
    def size(self) -> int:
        """Bytes before a value."""
        return 1 + self.value


class Group(NamedTuple):
    """Values of one schema: their indices, and where each begins and ends without its frame."""

    schema_id: int
    places: Places
    starts: Places
    ends: Places


@dataclass(frozen=True)
class Frames:
    """Values by schema, in the order of the ids. ``bad``: the index of those without a frame, and the reason."""

    groups: tuple[Group, ...]
    bad: tuple[tuple[int, str], ...]


def split_frames(packed: Packed, framing: Framing) -> Frames:
    """Divide values by the schema that their frames name."""
    size = framing.size
    starts, ends = packed.starts, packed.ends
    is_short = ends - starts < size
    is_unframed = ~is_short & (packed.data[starts] != MAGIC)
    bad = [(i, _short(int(ends[i] - starts[i]), size)) for i in np.flatnonzero(is_short).tolist()]
    bad += [(i, _not_magic(int(packed.data[starts[i]]))) for i in np.flatnonzero(is_unframed).tolist()]
    places = np.flatnonzero(~(is_short | is_unframed))
    words = np.ndarray((len(packed.data) - framing.value + 1,), f">i{framing.value}", packed.data.data, 0, (1,))
    ids = words[starts[places] + 1].astype(np.int64)
    groups = (Group(one, rows, starts[rows] + size, ends[rows]) for one, rows in _by_id(ids, places))
    return Frames(tuple(groups), tuple(sorted(bad)))


def _by_id(ids: Places, places: Places) -> Iterator[tuple[int, Places]]:
    if len(ids) and (ids == ids[0]).all():
        yield int(ids[0]), places
    elif len(ids):
        order = np.argsort(ids, kind="stable")
        firsts = np.flatnonzero(np.diff(ids[order])) + 1
        for rows in np.split(order, firsts):
            yield int(ids[rows[0]]), places[rows]


def _short(nbytes: int, size: int) -> str:
    has = f"{nbytes} bytes" if nbytes else "no bytes"
    return f"it has {has}: a magic byte and the id of a schema take {size}"


def _not_magic(first: int) -> str:
    return (
        f"its first byte is {first:#04x} and not the magic byte {MAGIC:#04x}: it was not written by a serializer with a "
        "schema registry, or by one that puts the id into headers"
    )
