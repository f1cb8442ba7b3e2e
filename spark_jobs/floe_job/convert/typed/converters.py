"""What every format with schemas is turned into: rows of a table, a route's field, whole values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import NameMapping

from floe_job.convert.base import Parsed
from floe_job.convert.keys.wrapped_keys import FIELD, WrappedKeys
from floe_job.convert.table_field import TableField, schema_of
from floe_job.convert.typed.base import TypedDecoder
from floe_job.convert.typed.table import TypedTable
from floe_job.convert.typed.whole.reader import parsed
from floe_job.schema.rules import ColumnRules


class TypedConverters:
    """Readers of values with schemas; ``make``: a decoder of the format, for each use, or the same for all."""

    def __init__(self, make: Callable[[], TypedDecoder]) -> None:
        self._make = make

    def for_table(
        self, schema: Schema | None, rules: ColumnRules, *, create: bool, name_mapping: NameMapping | None = None
    ) -> TypedTable:
        """Make the decoder of one table."""
        return TypedTable(self._make(), schema, rules, create=create, name_mapping=name_mapping)

    def for_field(self, path: tuple[str, ...]) -> TableField:
        """Make the reader of one field; bytes and times are no text, as in a string column."""
        return TableField(path, TypedTable(self._make(), schema_of(path), ColumnRules(), create=False))

    def for_key(self, path: tuple[str, ...]) -> TableField:
        """Make the reader of a field of keys, or of whole keys."""
        path = (FIELD, *path)
        return TableField(path, TypedTable(WrappedKeys(self._make()), schema_of(path), ColumnRules(), create=False))

    def whole(self, values: Sequence[bytes | None]) -> Parsed:
        """Decode whole values, for transforms."""
        return parsed(self._make(), values)
