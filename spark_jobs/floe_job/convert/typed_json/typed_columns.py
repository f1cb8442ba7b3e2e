"""Columns as they come from JSON to columns of their schema, in Arrow's type of it.

A value that the schema cannot hold without loss is noted with its record; what is in its place means nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from floe_job.connect.arrow import MAX_DIGITS, arrow_type, is_decimal
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.base import Places
from floe_job.convert.typed.base64_text import bytes_of
from floe_job.convert.typed.numbers import decimals, range_of
from floe_job.convert.typed.python_values import lengths_of, map_entries
from floe_job.convert.typed_json.json_values import has_default, placed
from floe_job.types.numbers import ROUNDS_TO_INFINITE_FLOAT

Path = tuple[str | None, ...]
"""Of a value: the names of the fields that it is in; None for the elements of an array or the entries of a map."""

_WORD: Final = 8
_FRONT: Final = 16
"""Bytes that are read before the first decimal."""


@dataclass
class Findings:
    """What is wrong with records, by their index: ``reasons``, and where a value is null that the schema requires.

    ``nulls``: the name of the field, or None for an element or a map's value, and the records. ``fills``: what is null was
    not there, and has the default of its field.
    """

    fills: bool = False
    reasons: dict[int, str] = field(default_factory=dict)
    nulls: list[tuple[str | None, Places]] = field(default_factory=list)

    def fail(self, owners: Places, path: Path, why: Callable[[int], str]) -> None:
        """Note that records are not right. ``why``: makes the reason for the index in ``owners``."""
        for i, owner in enumerate(owners.tolist()):
            self.reasons.setdefault(owner, placed(".".join(name or "element" for name in path), why(i)))


def typed_column(
    column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path = ()
) -> pa.Array:
    """Return the values of a column. ``owners``: the record of each."""
    if column.null_count == 0:
        return _present(column, schema, owners, findings, path)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    has_own = findings.fills and has_default(schema) and path[-1:] != (None,)  # an element that is null was sent
    if not schema.optional and not has_own:
        findings.nulls.append((path[-1] if path else None, owners[~present]))
    if _takes_nulls(schema):
        made = _present(column, schema, owners, findings, path)
        if not has_own:
            return made
        made, present = made.drop_null(), made.is_valid().to_numpy(zero_copy_only=False)
    else:
        made = _present(column.drop_null(), schema, owners[present], findings, path)
    default = pa.array([schema.default if has_own else None], made.type)
    order = np.full(len(column), len(made))
    order[present] = np.arange(len(made))
    return pa.concat_arrays([made, default]).take(pa.array(order))


def _takes_nulls(schema: ConnectSchema) -> bool:
    return schema.kind not in (Kind.STRUCT, Kind.ARRAY, Kind.MAP, Kind.BYTES)


def _present(column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path) -> pa.Array:
    if schema.kind is Kind.STRUCT:
        return _struct(column, schema, owners, findings, path)
    if schema.kind is Kind.ARRAY:
        return _array(column, schema, owners, findings, path)
    if schema.kind is Kind.MAP:
        return _map(column, schema, owners, findings, path)
    if schema.kind is Kind.BYTES:
        return _bytes(column, schema, owners, findings, path)
    if schema.kind is Kind.FLOAT32:
        return _floats(column, owners, findings, path)
    return _whole(column, schema, owners, findings, path) if pa.types.is_integer(column.type) else column


def _struct(column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path) -> pa.Array:
    children = [
        typed_column(child, inner, owners, findings, (*path, name))
        for child, (name, inner) in zip(column.flatten(), schema.fields, strict=True)
    ]
    return pa.Array.from_buffers(arrow_type(schema), len(column), [None], children=children)


def _array(column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path) -> pa.Array:
    lengths = lengths_of(column)
    inner = cast(ConnectSchema, schema.element)
    values = typed_column(column.flatten(), inner, np.repeat(owners, lengths), findings, (*path, None))
    return pa.LargeListArray.from_arrays(pa.array(_offsets(lengths)), values, type=arrow_type(schema))


def _map(column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path) -> pa.Array:
    keys, values, lengths = map_entries(column)
    inner = np.repeat(owners, lengths)
    parts = [
        typed_column(part, cast(ConnectSchema, one), inner, findings, (*path, None))
        for part, one in ((keys, schema.key), (values, schema.element))
    ]
    offsets = pa.array(_offsets(lengths).astype(np.int32))
    return pa.MapArray.from_arrays(offsets, *parts, type=arrow_type(schema))


def _whole(column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path) -> pa.Array:
    kind, limits = arrow_type(schema), range_of(schema)
    bad = _beyond(column, limits.least, limits.most) if limits.is_narrow else None
    if bad is not None:
        wrong = column.take(pa.array(bad)).to_pylist()
        findings.fail(owners[bad], path, lambda i: f"{wrong[i]} is not {limits.what}")
        column = _without(column, bad)
    if limits.times > 1:
        column = pc.multiply(column.cast(pa.int64()), limits.times)
    if kind == column.type:
        return column
    return column.cast(pa.int32()).cast(kind) if pa.types.is_date32(kind) else column.cast(kind)


def _floats(column: pa.Array, owners: Places, findings: Findings, path: Path) -> pa.Array:
    beyond = pc.greater_equal(pc.abs(column), ROUNDS_TO_INFINITE_FLOAT)
    if pc.any(beyond).as_py():
        bad = np.flatnonzero(pc.fill_null(beyond, fill_value=False).to_numpy(zero_copy_only=False))
        wrong = column.take(pa.array(bad)).to_pylist()
        findings.fail(owners[bad], path, lambda i: f"{wrong[i]} is too large for a float")
        column = _without(column, bad)
    return column.cast(pa.float32(), safe=False)


def _bytes(column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path) -> pa.Array:
    if pa.types.is_decimal(column.type):
        return column
    found, bad = bytes_of(column)
    if bad is not None:
        wrong = column.take(pa.array(bad)).to_pylist()
        findings.fail(owners[bad], path, lambda i: f"{wrong[i][:20]!r} is not standard base64")
    return _decimals(found, schema, owners, findings, path) if is_decimal(schema) else found


def _decimals(column: pa.Array, schema: ConnectSchema, owners: Places, findings: Findings, path: Path) -> pa.Array:
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    body = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    data = np.concatenate((np.zeros(_FRONT, np.uint8), body))
    words = np.ndarray((len(data) - _WORD + 1,), ">i8", data.data, 0, (1,))
    ends, sizes = offsets[1:] - offsets[0] + _FRONT, np.diff(offsets)
    if not sizes.all():
        findings.fail(owners[sizes == 0], path, lambda _: "it is a decimal without a byte")
    made, bad = decimals(data, words, ends, sizes, arrow_type(schema))
    if bad is not None:
        findings.fail(owners[bad], path, lambda _: f"it is a decimal of more than {MAX_DIGITS} digits")
    return made


def _beyond(column: pa.Array, least: int, most: int) -> Places | None:
    ends = pc.min_max(column).as_py()
    if ends["min"] is None or (ends["min"] >= least and ends["max"] <= most):
        return None
    found = pc.or_(pc.less(column, least), pc.greater(column, most))
    return np.flatnonzero(pc.fill_null(found, fill_value=False).to_numpy(zero_copy_only=False))


def _without(column: pa.Array, rows: Places) -> pa.Array:
    """Return a column with nulls in some rows."""
    mask = np.zeros(len(column), np.bool_)
    mask[rows] = True
    return pc.if_else(pa.array(mask), pa.scalar(None, column.type), column)


def _offsets(lengths: Places) -> Places:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
