"""The interface of readers of plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import pyarrow as pa

from floe_job.convert.typed.base import Places


class Column(NamedTuple):
    """Values of a batch: ``values[i]`` is of the record at ``places[i]``. ``bad``: the others, each with the reason."""

    values: pa.Array
    places: Places
    bad: list[tuple[int, str]]


class Reader(Protocol):
    """Reads values of one type."""

    def __call__(self, values: Sequence[bytes]) -> Column:
        """Read values, none of them None."""
