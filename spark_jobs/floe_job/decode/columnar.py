"""The fast path: a batch of JSON texts into columns by ``pyarrow.json``, with the result of the exact path or none.

Arrow's parser is taken at its word only where that word is known to be the exact path's. It is not where:

* it sees objects, not records: framing is checked on the bytes, so that one record is one object;
* it takes ``NaN`` and ``Infinity``: such values are refused, and looked for where fields are dropped unseen;
* it turns integers of 310 digits and more into infinity, and ``-0`` into ``-0.0``: such values are refused;
* it takes invalid UTF-8 in fields that are dropped: the whole text is validated;
* it crashes on bombs of brackets: depth is checked on the bytes.

Everything else that differs (a key given twice, 2.0 into a long, a number into a string) makes it raise, which is fine.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.json as pj
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema

from floe_job.decode.carriers import NotExact, refuse_extras, struct_carrier
from floe_job.decode.text import MAX_DEPTH, bare, too_deep
from floe_job.needs import SchemaNeeds

_ROW = re.compile(r" in row (\d+)$")
_NOT_A_NUMBER = re.compile(rb"[:\[,][ \t\r\n]*-?(?:NaN|Inf(?:inity)?)[ \t\r\n]*[,\]}]")


class ColumnarReader:
    """Reads batches against a table's schema, and against the needs as they are when it is made."""

    def __init__(self, schema: Schema, needs: SchemaNeeds, *, evolve: bool) -> None:
        """Choose the carriers; unknown fields are looked into if ``evolve``, else dropped unseen."""
        self._carrier = struct_carrier(schema.as_struct(), pa.struct(list(schema_to_pyarrow(schema))), needs)
        self._known = frozenset(field.name for field in self._carrier.type)
        self._drops_unseen = not evolve
        self._parse_options = {
            "explicit_schema": pa.schema(list(self._carrier.type)),
            "unexpected_field_behavior": "infer" if evolve else "ignore",
        }

    def read(self, values: Sequence[bytes]) -> pa.StructArray:
        """Return the rows as one array of structs. Raises NotExact."""
        text, pretty = _join(values)
        _check_depth(text, values)
        _check_encoding(text)
        if self._drops_unseen and (b"NaN" in text or b"Inf" in text) and _NOT_A_NUMBER.search(text):
            raise NotExact
        table = self._parse(text, pretty=pretty)
        if table.num_rows != len(values):
            raise NotExact
        if table.num_columns > len(self._known):
            refuse_extras(list(table.schema), table.column, self._known)
        try:
            return self._carrier.unload(self._carried(table))
        except pa.ArrowInvalid:
            raise NotExact from None

    def _carried(self, table: pa.Table) -> pa.StructArray:
        columns = (table.column(field.name) for field in self._carrier.type)
        arrays = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in columns]
        return pa.StructArray.from_arrays(arrays, fields=[table.field(field.name) for field in self._carrier.type])

    def _parse(self, text: bytes, *, pretty: bool) -> pa.Table:
        try:
            return pj.read_json(
                pa.BufferReader(text),
                read_options=pj.ReadOptions(use_threads=False, block_size=max(len(text), 64)),
                parse_options=pj.ParseOptions(newlines_in_values=pretty, **self._parse_options),
            )
        except pa.ArrowInvalid as error:
            row = _ROW.search(str(error))
            raise NotExact(int(row[1]) if row else None) from None
        except (pa.ArrowException, UnicodeDecodeError):
            raise NotExact from None


def _join(values: Sequence[bytes]) -> tuple[bytes, bool]:
    """Join records by newlines, making sure that each newline between two stands between two whole objects.

    ``}``, newline, ``{`` is an error inside any object, array or string, so a parser that gets through was at the top
    level there. Raises NotExact where a value does not begin and end as an object. Also tells whether
    values hold newlines.
    """
    text = b"\n".join((*values, b""))
    between = len(values) - 1
    if text.count(b"}\n{") == between == text.count(b"\n") - 1 and text.startswith(b"{") and text.endswith(b"}\n"):
        return text, False
    stripped = [bare(value) for value in values]
    for row, value in enumerate(stripped):
        if not (value.startswith(b"{") and value.endswith(b"}")):
            raise NotExact(row)
    text = b"\n".join((*stripped, b""))
    return text, text.count(b"\n") > between + 1


def _check_depth(text: bytes, values: Sequence[bytes]) -> None:
    if text.count(b"{") + text.count(b"[") - len(values) < MAX_DEPTH:
        return
    for row, value in enumerate(values):
        if len(value) > 2 * MAX_DEPTH and too_deep(value):
            raise NotExact(row)


def _check_encoding(text: bytes) -> None:
    if text.isascii():
        return
    buffers = [None, pa.array([0, len(text)], pa.int64()).buffers()[1], pa.py_buffer(text)]
    try:
        pa.Array.from_buffers(pa.large_binary(), 1, buffers).cast(pa.large_string())
    except pa.ArrowInvalid:
        raise NotExact from None
