"""What a transform of the user returned, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from floe_job.exceptions import REASON_LENGTH, clip
from floe_job.transform.own.batch import HEADERS, TIMESTAMP, Batch

_TYPES: Final[Mapping[str, pa.DataType]] = {
    "topic": pa.string(),
    "timestamp": TIMESTAMP,
    "key": pa.binary(),
    "headers": HEADERS,
    "kept": pa.bool_(),
}
_FULL: Final = frozenset({"topic", "kept"})
"""Columns that have no nulls."""

_FIXED: Final = ("partition", "offset")
_MAX_TOPIC: Final = 249


class WrongAnswer(ValueError):
    """What the class returned is no batch of the records that it got: the message says why."""


@dataclass(frozen=True)
class OwnAnswer:
    """The batch as columns, and by name those that differ from the given ones. ``refused``: by row the reason.

    ``is_same_value``: whether the values are those that were given.
    """

    value: pa.Array
    is_same_value: bool
    kept: pa.Array
    refused: Mapping[int, str]
    changed: Mapping[str, pa.Array]


def checked(given: Batch, returned: object) -> OwnAnswer:
    """Check what the class returned for a batch. Raises WrongAnswer."""
    if not isinstance(returned, Batch):
        problem = f"returned {_kind(returned)} and no Batch"
        raise WrongAnswer(problem)
    columns = {name: _column(given, returned, name) for name in (*_TYPES, *_FIXED, "value")}
    for name in _FIXED:
        if columns[name] is not getattr(given, name) and not columns[name].equals(getattr(given, name)):
            problem = f"returned another column {name!r}: progress is counted by it, it stays"
            raise WrongAnswer(problem)
    cast = {name: _cast(name, columns[name], kind) for name, kind in _TYPES.items()}
    if (
        max(map(len, cast["topic"].unique().to_pylist()), default=1) > _MAX_TOPIC
        or "" in cast["topic"].unique().to_pylist()
    ):
        problem = f"returned a topic of no or more than {_MAX_TOPIC} characters"
        raise WrongAnswer(problem)
    _check_headers(cast["headers"])
    names = ("topic", "timestamp", "key", "headers")
    changed = {name: cast[name] for name in names if columns[name] is not getattr(given, name)}
    is_same = columns["value"] is given.value
    return OwnAnswer(_value(given, columns["value"]), is_same, cast["kept"], _refused(returned, len(given)), changed)


def _column(given: Batch, returned: Batch, name: str) -> pa.Array:
    column = getattr(returned, name)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        problem = f"returned {_kind(column)} as column {name!r} and no Arrow array"
        raise WrongAnswer(problem)
    if len(column) != len(given):
        problem = (
            f"returned {len(column)} rows in column {name!r} for {len(given)} records: a batch keeps its rows, leave records "
            "out with filter()"
        )
        raise WrongAnswer(problem)
    return column


def _cast(name: str, column: pa.Array, kind: pa.DataType) -> pa.Array:
    try:
        made = column if column.type == kind else column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        problem = (
            f"returned a column {name!r} of type {clip(str(column.type), 60)}, not {kind}: {clip(str(error), 100)}"
        )
        raise WrongAnswer(problem) from None
    if name in _FULL and made.null_count:
        problem = f"returned a null in column {name!r}"
        raise WrongAnswer(problem)
    return made


def _value(given: Batch, value: pa.Array) -> pa.Array:
    if _is_text(given.value.type):
        if _is_text(value.type):
            return value
        wanted = "a string column, the JSON text"
    elif pa.types.is_struct(value.type):
        return value
    else:
        wanted = "a struct column"
    problem = f"returned values of type {clip(str(value.type), 60)}: these records have {wanted}, and keep it"
    raise WrongAnswer(problem)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _check_headers(headers: pa.Array) -> None:
    entries = headers.flatten()
    if entries.null_count or entries.field("key").null_count:
        problem = "returned a header without a key"
        raise WrongAnswer(problem)


def _refused(returned: Batch, count: int) -> dict[int, str]:
    if not isinstance(returned.refused, Mapping):
        problem = f"returned {_kind(returned.refused)} as refused, not the reason by row"
        raise WrongAnswer(problem)
    refused: dict[int, str] = {}
    for row, reason in returned.refused.items():
        if not isinstance(row, int) or isinstance(row, bool) or not 0 <= row < count or not isinstance(reason, str):
            what = f"row {clip(repr(row), 30)} of {count} for {clip(repr(reason), 60)}"
            problem = f"refused {what}: give a row's place and a text"
            raise WrongAnswer(problem)
        refused[row] = clip(reason, REASON_LENGTH)
    return refused


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}"
