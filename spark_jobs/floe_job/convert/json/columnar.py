"""The fast path: a batch of JSON texts into columns by ``pyarrow.json``, with the result of the exact path or none.

The result of Arrow's parser is used only where it is known to equal that of the exact path. Some of it is checked on the
text, see ``text_checks``. It turns integers of 310 digits and more into infinity, and ``-0`` into ``-0.0``: such values are
refused. Everything else that differs (a key given twice, 2.0 into a long, a number into a string) makes it raise, which is
fine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from sys import maxsize

import pyarrow as pa
from pyiceberg.schema import Schema

from floe_job.convert.json.framing import Injected, NotExact, Respelled, Text, UnexpectedField, joined
from floe_job.convert.json.key_aliases import Alternatives, Spellings
from floe_job.convert.json.nested_readers import ColumnReaders
from floe_job.convert.json.template import TemplateReader
from floe_job.convert.json.text_checks import (
    check_constants,
    check_depth,
    check_encoding,
    is_pretty,
    parsed_by_arrow,
    read_by_arrow,
)
from floe_job.schema.evolution import SchemaChanges
from floe_job.source.values import Lines
from floe_job.types import Lookup

FIRST_SAMPLE = 64
"""Records whose unexpected fields are examined first: each may contain others, and a column is made for each of them."""

MAX_UNEXPECTED = 256
"""Limit for a batch: the parser makes a column for each, which takes longer than reading the records one by one."""

MAX_CELLS = 2_000_000
"""Records times columns of a batch: the parser takes time for each, even if most are empty."""


class ColumnarReader:
    """Reads batches against a table's schema, and against the missing columns known when it is made.

    ``columns``: how many there are, nested ones included. ``most``: records at once, as the parser takes time for each
    column of each. ``unexpected``: fields of the last batch that have no column. ``drops_unknown``: where False, a record
    with such a field is not for columns.
    """

    def __init__(
        self, schema: Schema, needs: SchemaChanges, lookup: Lookup, spellings: Spellings, injected: Injected
    ) -> None:
        """Choose the column readers. Unknown fields are examined if columns may be added or respelled, else dropped."""
        self.drops_unknown = True
        self._schema = needs.widened(injected.left_empty(schema))
        self._make = partial(ColumnReaders, lookup, spellings, needs, injected)
        self._evolve, self._choices = needs.rules.evolve, lookup.has_choices
        self.unexpected = 0
        self._open = maxsize
        self._compile()

    def _compile(self) -> None:
        self._readers = self._make()
        self._reader = self._readers.top(self._schema)
        self._alternatives = Alternatives(self._readers.alternatives)
        self._explicit = pa.schema(list(self._reader.type))
        self.columns = _fields(self._explicit)
        self._template_reader = TemplateReader(self._explicit)
        # The cost of examining unexpected fields grows with their number. Fields that are dropped unread are checked for
        # values that must not be dropped. Both happen only from the first such field on.
        self._unexpected = "error"

    @property
    def has_many_unexpected(self) -> bool:
        """Return whether the last batch had so many that reading by rows is faster."""
        return self.unexpected > MAX_UNEXPECTED

    @property
    def most(self) -> int:
        return min(self._open, MAX_CELLS // (self.columns + self.unexpected + 1) + 1)

    def read(self, values: Sequence[bytes]) -> pa.StructArray:
        """Return the rows as one array of structs. Raises NotExact."""
        lines = joined(values)
        check_depth(lines)
        check_encoding(lines.text)
        while True:
            try:
                return self._read(lines)
            except Respelled:  # the loop ends, as the number of spellings is limited
                self._compile()

    def _read(self, lines: Lines) -> pa.StructArray:
        self._readers.dropped = False
        text, records = lines.text, len(lines.starts)
        table = self._template_reader.read(lines, self._parse_known)
        if table is None:
            table = self._parse(text, records, pretty=is_pretty(text, records))
        if table.num_rows != records:
            raise NotExact
        try:
            rows = self._unloaded(text, table)
        except pa.ArrowException:  # as of lists of nothing but nulls: what was parsed may be broken inside
            raise NotExact from None
        if self._readers.dropped:
            check_constants(text)
        return rows

    def _unloaded(self, text: Text, table: pa.Table) -> pa.StructArray:
        if self._unexpected == "infer":
            self.unexpected = _fields(table.schema) - self.columns
            self._open = FIRST_SAMPLE if self.has_many_unexpected else max(self._open, 2 * table.num_rows)
        if table.num_columns > len(self._explicit):
            self._reader.check_extras(list(table.schema), table.column)
        carried = self._carried(table)
        self._alternatives.check(text, carried)
        return self._reader.convert_column(carried)

    def _carried(self, table: pa.Table) -> pa.StructArray:
        fields = [table.field(name) for name in self._explicit.names]
        if not fields:
            return pa.array([{}] * table.num_rows, pa.struct([]))
        columns = (table.column(field.name) for field in fields)
        arrays = [column.chunk(0) if column.num_chunks == 1 else column.combine_chunks() for column in columns]
        return pa.StructArray.from_arrays(arrays, fields=fields)

    def _parse_known(self, text: Text) -> pa.Table:
        return read_by_arrow(text, self._explicit, "error")

    def _parse(self, text: Text, records: int, *, pretty: bool) -> pa.Table:
        if self._unexpected == "ignore":
            check_constants(text)
        try:
            return parsed_by_arrow(text, self._explicit, self._unexpected, pretty=pretty)
        except UnexpectedField:
            if not self.drops_unknown:
                raise NotExact from None
            self._unexpected = "infer" if self._evolve or self._choices else "ignore"
        if self._unexpected == "infer":
            self._open = FIRST_SAMPLE
            if records > FIRST_SAMPLE:
                raise NotExact
        return self._parse(text, records, pretty=pretty)


def _fields(kind: Iterable[pa.Field]) -> int:
    """Count fields, nested ones included."""
    return sum(1 + (_fields(_inside(one.type)) if pa.types.is_nested(one.type) else 0) for one in kind)


def _inside(kind: pa.DataType) -> list[pa.Field]:
    return [kind.field(position) for position in range(kind.num_fields)]
