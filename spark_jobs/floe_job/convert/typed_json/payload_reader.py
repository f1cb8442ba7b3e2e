"""Values of one schema to one column: columnar where Arrow's parser can, else one by one, with the same result."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from floe_job.connect.arrow import arrow_type, is_decimal
from floe_job.connect.schema import ConnectSchema
from floe_job.convert.column_limits import check_bytes, default_bytes
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.convert.json.key_aliases import ESCAPED_KEY
from floe_job.convert.json.parse import parse, parse_value
from floe_job.convert.typed.base import Places
from floe_job.convert.typed_json.carried_types import DecimalForm, JsonForms, carried_columns, carried_type, children
from floe_job.convert.typed_json.json_values import JsonValues, Read, has_default
from floe_job.convert.typed_json.typed_columns import Findings, typed_column
from floe_job.exceptions import InvalidRecord
from floe_job.schema.proposal import ColumnRules
from floe_job.source.values import Packed, packed


class Payloads(NamedTuple):
    """Values of a schema. ``rows``: the index of the record of each. ``bad``: that of the others, and the reason.

    ``fast_rows``: of the records, those that the parser of columns read.
    """

    values: pa.Array
    rows: Places
    bad: dict[int, str]
    fast_rows: int


class PayloadReader:
    """Reads the values of one schema."""

    def __init__(self, schema: ConnectSchema, forms: JsonForms) -> None:
        """Raises ValueError for a schema whose values have no type in Arrow."""
        self._type = arrow_type(schema)
        self._schema = schema
        self._default_bytes = default_bytes(schema)
        self._forms = forms
        self._exact = JsonValues(forms).reader(schema)
        self._defaults = frozenset(_names_with_default(schema))
        self._decimals = frozenset(_decimal_names(schema, None))
        self._decoders: dict[DecimalForm, JsonDecoder | None] = {}

    def read(self, values: Sequence[bytes]) -> Payloads:
        """Read values, none of them None. Raises ColumnsTooLarge."""
        check_bytes(self._default_bytes * len(values), len(values))
        text = PackedText(values)
        apart = self._with_null(text)
        if not len(apart):
            return self._read(values, text, self._decoder(self._form(text)))
        rest = np.delete(np.arange(len(values)), apart)
        others = [values[place] for place in rest.tolist()]
        beside = PackedText(others)
        return _joined(
            (rest, self._read(others, beside, self._decoder(self._form(beside)))),
            (apart, self._read([values[place] for place in apart.tolist()], text, None)),
        )

    def _with_null(self, text: PackedText) -> Places:
        """Return the records that may have a null for a field with a default: the parser of columns takes it for absent."""
        if not self._defaults or not text.may_have(self._defaults, b"null"):
            return np.array([], np.int64)
        return text.with_null()

    def _read(self, values: Sequence[bytes], text: PackedText, decoder: JsonDecoder | None) -> Payloads:
        """Read values as columns, or without a decoder one by one."""
        carried = self._one_by_one(values) if decoder is None else _columnar(decoder, values)
        findings = Findings(fills=decoder is not None)
        column, rows = typed_column(carried.values, self._schema, carried.rows, findings), carried.rows
        if decoder is not None:
            self._check_nulls(values, text, findings)
            self._read_again(values, list(findings.reasons), findings)
        if findings.reasons:
            kept = np.flatnonzero(~np.isin(rows, list(findings.reasons)))
            column, rows = column.take(pa.array(kept)), rows[kept]
        return Payloads(column, rows, {**findings.reasons, **carried.bad}, carried.fast_rows)

    def _form(self, text: PackedText) -> DecimalForm:
        """Choose how decimals are read: the parser takes both forms for a number, and so must not see a text."""
        is_text = not self._decimals or text.may_have(self._decimals, b'"')
        return DecimalForm.TEXT if is_text else DecimalForm.NUMBER

    def _decoder(self, form: DecimalForm) -> JsonDecoder | None:
        if form not in self._decoders:
            columns = carried_columns(self._schema, self._forms, form)
            rows = _Rows(JsonValues(self._forms, form).reader(self._schema))
            made = None
            if columns is not None:
                made = JsonDecoder(columns, ColumnRules(), create=False, row_reader=rows, drops_unknown=False)
            self._decoders[form] = made
        return self._decoders[form]

    def _one_by_one(self, values: Sequence[bytes]) -> Payloads:
        found, rows, bad = list[Any](), list[int](), dict[int, str]()
        for row, value in enumerate(values):
            try:
                found.append(self._exact(parse_value(value)))
                rows.append(row)
            except InvalidRecord as error:
                bad[row] = error.reason
        return Payloads(pa.array(found, carried_type(self._schema)), np.array(rows, np.int64), bad, 0)

    def _check_nulls(self, values: Sequence[bytes], text: PackedText, findings: Findings) -> None:
        """Reject the records whose null is in their text: a field that is not there is none."""
        if not findings.nulls:
            return
        if self._forms.absent_is_null and not text.may_have({name for name, _ in findings.nulls}, b"null"):
            return
        rows = np.unique(np.concatenate([owners for _, owners in findings.nulls]))
        if self._forms.absent_is_null:
            rows = np.intersect1d(rows, text.with_null(), assume_unique=True)
        self._read_again(values, rows.tolist(), findings)

    def _read_again(self, values: Sequence[bytes], rows: Iterable[int], findings: Findings) -> None:
        """Read records one by one, for the reason why they are rejected: the same as if none were read as columns."""
        for row in rows:
            try:
                self._exact(parse_value(values[row]))
            except InvalidRecord as error:
                findings.reasons[row] = error.reason


class _Rows:
    """Reads single records as ``floe_job.convert.json.row_reader.RowReader`` does, by a schema of their own."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def read(self, value: bytes) -> Mapping[str, Any]:
        """Return the values of a record by column. Raises Malformed."""
        return self.read_parsed(parse(value, literals=True))

    def read_parsed(self, value: Any) -> Mapping[str, Any]:
        """Return the values of a record that is parsed. Raises Malformed."""
        found: Mapping[str, Any] = self._read(value)
        return found

    def take_in(self) -> bool:
        """Return False: there is nothing that the columns lack."""
        return False


def _columnar(decoder: JsonDecoder, values: Sequence[bytes]) -> Payloads:
    decoded = decoder.decode(values)
    assert decoded.table is not None  # noqa: S101 - it lacks nothing
    bad = {one.index: one.reason for one in decoded.rejected}
    rows = np.delete(np.arange(len(values)), list(bad))
    table = decoded.table.combine_chunks()
    columns = [column.chunk(0) if column.num_chunks else pa.array([], column.type) for column in table.columns]
    return Payloads(pa.StructArray.from_arrays(columns, fields=list(table.schema)), rows, bad, decoded.fast_rows)


def _joined(*parts: tuple[Places, Payloads]) -> Payloads:
    """Join values in the order of their records. The first of each pair: where its records are among all."""
    rows = np.concatenate([places[found.rows] for places, found in parts])
    order = np.argsort(rows)
    return Payloads(
        pa.concat_arrays([found.values for _, found in parts]).take(pa.array(order)),
        rows[order],
        {int(places[row]): why for places, found in parts for row, why in found.bad.items()},
        sum(found.fast_rows for _, found in parts),
    )


def _names_with_default(schema: ConnectSchema) -> Iterator[str]:
    """Yield the names of the fields that have a default, at every depth."""
    for name, inner in schema.fields:
        if has_default(inner):
            yield name
    for inner in children(schema):
        yield from _names_with_default(inner)


def _decimal_names(schema: ConnectSchema, name: str | None) -> Iterator[str | None]:
    """Yield the name of the field of each decimal; None for one in an array or a map."""
    if is_decimal(schema):
        yield name
    for field, inner in schema.fields:
        yield from _decimal_names(inner, field)
    if not schema.fields:
        for inner in children(schema):
            yield from _decimal_names(inner, None)


# Whether a null in a column is one in the text, or a field that is not there: the parser of columns does not say.


_NULL: Final = b"null"
_BLANKS: Final = (b"", b" ")
_ODD_BLANKS: Final = (b"\t", b"\n", b"\r", b'" :', b"  :", b":  ")
"""Where none of these is in a text, a colon has no blank before it, and one space behind it at most."""


class PackedText:
    """The text of records, copied into one buffer when it is first asked for.

    Answers are made from the bytes; where these leave a doubt, they are yes.
    """

    def __init__(self, values: Sequence[bytes]) -> None:
        self._values = values

    @cached_property
    def _packed(self) -> Packed:
        return packed(self._values)

    @cached_property
    def _text(self) -> bytes:
        return self._packed.data.tobytes()

    def may_have(self, names: Collection[str | None], token: bytes) -> bool:
        """Return whether a field of one of the names may have a value that begins with ``token``; None: an element."""
        text = self._text
        if token not in text:
            return False
        if any(name is None or json.dumps(name, ensure_ascii=False) != f'"{name}"' for name in names):
            return True
        may_be_escaped = b"\\u" in text or (b"\\/" in text and any("/" in str(name) for name in names))
        if may_be_escaped and ESCAPED_KEY.search(text):
            return True
        keys = [f'"{name}"'.encode() for name in set(names)]
        if any(blank in text for blank in _ODD_BLANKS):
            between = rb"[ \t\n\r]*:[ \t\n\r]*"
            return any(re.search(re.escape(key) + between + re.escape(token), text) for key in keys)
        return any(key + b":" + blank + token in text for key in keys for blank in _BLANKS)

    def with_null(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the indices of the records that have a null somewhere, or the word in a text."""
        data = self._packed.data
        found = data[: 1 - len(_NULL)] == _NULL[0]
        for place in range(1, len(_NULL)):
            found &= data[place : len(data) + 1 - len(_NULL) + place] == _NULL[place]
        places = np.flatnonzero(found)
        starts, ends = self._packed.starts, self._packed.ends
        return np.flatnonzero(np.searchsorted(places, starts) < np.searchsorted(places, ends))
