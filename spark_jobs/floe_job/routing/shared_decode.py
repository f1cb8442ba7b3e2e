"""Tables with the same columns: their records are decoded together, and routed by a decoded column.

Routing by a field reads each record twice, once for the route and once for its table, and of many tables each gets a small
part of a batch to decode. Where all tables of a task take the same columns, the route's field among them, once is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.schema import Schema
from pyiceberg.types import StringType, StructType

from floe_job.contract.task import RouteRules, TableTarget
from floe_job.convert.base import Converters, TableConverter
from floe_job.convert.column_limits import ColumnsTooLarge
from floe_job.exceptions import SchemaConflict
from floe_job.source.record_batch import Records


@dataclass(frozen=True)
class DecodedTogether:
    """Records with a row each, and the route value of each: text, or null. ``rest``: the others, which are not checked yet.

    ``fast``: whether all of them took the columnar path.
    """

    records: Records
    rows: pa.Table
    values: pa.Array
    rest: Records
    fast: bool


class SharedDecoder:
    """Decodes records of tables with the same columns. ``path``: the field of the route value."""

    def __init__(self, decoder: TableConverter, path: Sequence[str]) -> None:
        self._decoder = decoder
        self._path = path

    @classmethod
    def of(cls, targets: Sequence[TableTarget], routes: RouteRules, converters: Converters) -> SharedDecoder | None:
        """Return None where tables differ, may differ from what the route is read by, or where it is not in a column."""
        path = routes.routing.path
        if len(targets) < 2 or routes.routing.by != "field" or routes.redriven is not None:
            return None
        first = targets[0]
        if first.metadata is None or not _is_text(first.metadata.schema(), path):
            return None
        schema = first.metadata.schema()
        is_uniform = all(
            target.metadata is not None
            and not target.transforms
            and not target.rules.case_insensitive
            and not target.rules.debezium_types
            and target.rules == first.rules
            and target.metadata.name_mapping() is None
            and target.metadata.schema() == schema
            for target in targets
        )
        return cls(converters.for_table(schema, first.rules, create=False), path) if is_uniform else None

    def decode(self, records: Records) -> DecodedTogether | None:
        """Decode records; None when each table has to decode its own: tables lack columns, or the columns are too large."""
        try:
            decoded = self._decoder.decode(records.content)
        except (SchemaConflict, ColumnsTooLarge):  # one new column of two tables may have two types
            return None
        if self._decoder.needs or decoded.table is None:
            return None
        refused = [one.index for one in decoded.rejected]
        kept = records.without(refused)
        rows = (
            decoded.table.combine_chunks()
        )  # each table takes its part of them: of chunks, Arrow would join them each time
        column = rows.column(self._path[0]).combine_chunks()
        if len(self._path) > 1:
            column = pc.struct_field(column, list(self._path[1:]))
        return DecodedTogether(kept, rows, column.cast(pa.large_string()), records.select(refused), decoded.fast)


def _is_text(schema: Schema, path: Sequence[str]) -> bool:
    """Return whether a path leads to a column of text, through nothing but structs."""
    struct = schema.as_struct()
    for depth, name in enumerate(path):
        found = next((field for field in struct.fields if field.name == name), None)
        if found is None:
            return False
        if depth == len(path) - 1:
            return isinstance(found.field_type, StringType)
        if not isinstance(found.field_type, StructType):
            return False
        struct = found.field_type
    return False
