"""Bounds of a file's columns that hold for every reader.

Text is cut; where the cut text has to be raised, half of a surrogate pair is no character. UUIDs are compared by the spec as
unsigned, and by Iceberg's Java library as two signed halves (apache/iceberg issue 14216).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.io.fileformat import DataFileStatistics
from pyiceberg.io.pyarrow import MetricModeTypes, MetricsMode

from floe.parquet.leaves import Leaf

_SURROGATES = range(0xD800, 0xE000)
_UUID_BYTES = 16
_SIGN = 0x80
"""Of the first byte of each half of a UUID."""


def raise_bounds(statistics: DataFileStatistics) -> None:
    """Cut and raise the largest text of each column here: PyIceberg would make half a surrogate pair of U+D7FF."""
    for aggregate in statistics.column_aggregates.values():
        if isinstance(aggregate.current_max, str) and aggregate.trunc_length is not None:
            aggregate.current_max = raised(aggregate.current_max, aggregate.trunc_length)


def raised(text: str, length: int) -> str | None:
    """Return a text of at most ``length`` characters that is not below ``text``; None if there is none."""
    if len(text) <= length:
        return text
    for last in range(length - 1, -1, -1):
        code = ord(text[last]) + 1
        if code <= sys.maxunicode:
            return text[:last] + chr(_SURROGATES.stop if code in _SURROGATES else code)
    return None


@dataclass
class UuidMetrics:
    """Counts and bounds of one UUID column of one file, from its rows: its Parquet column has no statistics.

    A bound is given only where both orders agree on it, whatever it is compared with: an upper one if no value has the sign
    bit, a lower one if all have it.
    """

    leaf: Leaf
    mode: MetricsMode
    _count: int = 0
    _low: bytes | None = None
    _high: bytes | None = None
    _second_signs: frozenset[bool] = frozenset()

    def add(self, rows: pa.Table) -> None:
        """Take rows in account that are written to the file."""
        for values in self.leaf.values(rows):
            present = values.drop_null() if values.null_count else values
            self._count += len(present)
            if self.mode.type is MetricModeTypes.FULL and len(present):
                self._widen(present)

    def _widen(self, values: pa.Array) -> None:
        ends = pc.min_max(values)
        low, high = ends["min"].as_py(), ends["max"].as_py()
        self._low = low if self._low is None else min(low, self._low)
        self._high = high if self._high is None else max(high, self._high)
        raw = np.frombuffer(values.buffers()[1], np.uint8, len(values) * _UUID_BYTES, values.offset * _UUID_BYTES)
        second = raw[_UUID_BYTES // 2 :: _UUID_BYTES]
        self._second_signs |= {bool(second.min() & _SIGN), bool(second.max() & _SIGN)}

    def complete(self, entry: dict[str, Any], footer: pq.FileMetaData) -> None:
        """Put what is known of the column into a file's entry for its manifest."""
        if self.mode.type is MetricModeTypes.NONE:
            return
        field_id = self.leaf.field_id
        places = (i for i in range(footer.num_columns) if footer.schema.column(i).path == self.leaf.path)
        place = next(places)
        count = sum(footer.row_group(i).column(place).num_values for i in range(footer.num_row_groups))
        entry["value_counts"][field_id] = count
        entry["null_value_counts"][field_id] = count - self._count
        lower, upper = self.bounds
        if lower is not None:
            entry["lower_bounds"][field_id] = lower
        if upper is not None:
            entry["upper_bounds"][field_id] = upper

    @property
    def bounds(self) -> tuple[bytes | None, bytes | None]:
        """The lower and the upper bound, each None where readers would not agree on it."""
        if self._low is None or self._high is None or len(self._second_signs) > 1:
            return None, None
        lower = self._low if self._low[0] & _SIGN else None
        upper = self._high if not self._high[0] & _SIGN else None
        return lower, upper
