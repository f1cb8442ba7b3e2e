"""Columns that are much larger than the bytes of their records: a record may point at constants of its schema.

A byte is enough for a symbol of an enum, and none for a default. Values whose columns would take too much memory are decoded
in parts, and a part is written before the next is decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeVar

from floe_job.connect.schema import ConnectSchema

MIB: Final = 1024 * 1024

MAX_BYTES: Final = 128 * MIB
"""Bytes of the columns of several values: four times those that a batch of records has by default."""

MAX_CHUNK_CONSTANTS: Final = 64 * MIB
"""Bytes of the constants in a chunk of values, before it is divided."""

MAX_CONSTANTS: Final = 512 * MIB
"""Bytes of the constants that one value may have."""

Found = TypeVar("Found")


class ColumnsTooLarge(Exception):
    """The columns of several values would take more memory than they should; of half of them they may not."""


class ChunkPart(NamedTuple):
    """Values of some, by index."""

    first: int
    last: int


def in_parts(count: int, decode: Callable[[ChunkPart], Found]) -> Iterator[tuple[ChunkPart, Found]]:
    """Decode values, all at once or in parts that are as large as they may be; yield each part when it is decoded."""
    waiting = [ChunkPart(0, count)]
    while waiting:
        part = waiting.pop()
        try:
            found = decode(part)
        except ColumnsTooLarge:
            middle = (part.first + part.last) // 2
            waiting += [ChunkPart(middle, part.last), ChunkPart(part.first, middle)]
            continue
        yield part, found
        del found  # its memory is free before the next part is decoded


def check_bytes(nbytes: int, count: int) -> None:
    """Raise ColumnsTooLarge if the columns of more than one value take so many bytes that they should not be together."""
    if nbytes > MAX_BYTES and count > 1:
        raise ColumnsTooLarge


def default_bytes(schema: ConnectSchema) -> int:
    """Return the bytes of the texts that the fields of a value get if all are absent, without those in arrays and maps."""
    own = len(schema.default) if isinstance(schema.default, str | bytes) else 0
    return own + sum(default_bytes(inner) for _, inner in schema.fields)
