"""Columns of ISO texts into columns of time, without a Python object for a value.

Texts of another form, or of a day that there is not, are left to the converters of ``floe_job.types.temporal``.
"""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.types import DateType, IcebergType, TimestampType, TimestamptzType

from floe_job.types.temporal import FIRST_DAY, FIRST_MICRO, LAST_DAY, LAST_MICRO

Rows = np.ndarray[Any, np.dtype[np.bool_]]

TIMES: Final = (DateType, TimestampType, TimestamptzType)
"""The columns that texts are converted into here."""

_DATE: Final = r"\d{4}-\d{2}-\d{2}"
_LOCAL: Final = rf"{_DATE}[T ]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?Z?"
_ZONED: Final = rf"{_DATE}[T ]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d{{1,6}})?[+-](?:0\d|1[0-7]):?[0-5]\d"
_IS_ZONED: Final = re.compile(_ZONED, re.ASCII)


def times_of_texts(texts: pa.Array, target: IcebergType, arrow: pa.DataType) -> tuple[pa.Array, Rows | None]:
    """Convert texts (large_string) into a column of one of TIMES.

    Returns the column, and the rows that are left out, null in the column; None for no such rows. Of texts with an offset
    and texts without, those are converted that have the form of the first.
    """
    form = _form(texts, target)
    left_out = _rows(pc.invert(pc.match_substring_regex(texts, rf"\A(?:{form})\z")))
    try:
        made = _cast(_without(texts, left_out), form, arrow)
    except pa.ArrowInvalid:  # the 31st of February
        return pa.nulls(len(texts), arrow), _rows(texts.is_valid())
    integers, first, last = (
        (pa.int32(), FIRST_DAY, LAST_DAY) if form is _DATE else (pa.int64(), FIRST_MICRO, LAST_MICRO)
    )
    numbers = made.view(integers)
    beyond = _rows(pc.or_(pc.less(numbers, first), pc.greater(numbers, last)))
    if beyond is None:
        return made, left_out
    return _without(made, beyond), beyond if left_out is None else beyond | left_out


def _form(texts: pa.Array, target: IcebergType) -> str:
    if isinstance(target, DateType):
        return _DATE
    place = pc.index(texts.is_valid(), True).as_py() if isinstance(target, TimestamptzType) else -1
    return _ZONED if place >= 0 and _IS_ZONED.fullmatch(texts[place].as_py()) else _LOCAL


def _cast(texts: pa.Array, form: str, arrow: pa.DataType) -> pa.Array:
    if form is not _LOCAL:
        return texts.cast(arrow)
    return pc.utf8_rtrim(texts, "Z").cast(pa.timestamp("us")).cast(arrow)


def _rows(found: pa.Array) -> Rows | None:
    if not found.true_count:
        return None
    rows: Rows = pc.fill_null(found, fill_value=False).to_numpy(zero_copy_only=False)
    return rows


def _without(column: pa.Array, rows: Rows | None) -> pa.Array:
    return column if rows is None else pc.if_else(pa.array(rows), pa.scalar(None, column.type), column)
