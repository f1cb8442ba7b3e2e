"""Decimals: the unscaled value in two's complement, big-endian, in bytes or in a fixed."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import MAX_DIGITS, arrow_type
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.avro.byte_strings import read_sizes
from floe_job.convert.avro.datums import Datums
from floe_job.convert.avro.reader import beyond, varint
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.unscaled_decimals import decimals

_TOO_LARGE: Final = f"it is a decimal of more than {MAX_DIGITS} digits"


class DecimalReader:
    """Reads decimals. ``size``: of the fixed that they are in; None for bytes."""

    values = 1

    def __init__(self, schema: ConnectSchema, size: int | None, path: str) -> None:
        self.path = path
        self.size = size
        self.least = 1 if size is None else size
        self._type = arrow_type(schema)

    def read(self, datums: Datums, pos: Places, end: Places) -> tuple[pa.Array, Places]:
        """Read a decimal from each position."""
        if self.size is None:
            sizes, begin = read_sizes(datums, pos, end, self.path)
        else:
            sizes, begin = np.full_like(pos, self.size), pos
        after = begin + sizes
        datums.within(after, end, self.path)
        if not sizes.all():
            datums.fail(end[sizes == 0], self.path, "it is a decimal without a byte")
        found, bad = decimals(datums.data, datums.words(">i8"), after, sizes, self._type)
        if bad is not None:
            datums.fail(end[bad], self.path, _TOO_LARGE)
        return found, after

    def skip(self, view: memoryview, pos: int, end: int) -> int:
        """Return the position behind one value."""
        size = self.size
        if size is None:
            size, pos = varint(view, pos, end)
        return beyond(pos, size, end)
