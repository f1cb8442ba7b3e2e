"""What a table lacks for values of a schema, found by comparing the two, without reading a value.

As the sink does with records that have a schema: a field without a column is a new column, an int64 makes an int column a
long, a float64 makes a float column a double, and what may be null, or is not there, makes its column optional.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.types import FloatType, IcebergType, IntegerType, ListType, MapType, NestedField, StructType

from floe_job.connect import logical
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.convert.typed.proposals import proposal_of
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.inference import same_name
from floe_job.schema.limits import FullNames, check_count, check_depth, check_name, check_reserved
from floe_job.schema.proposal import ELEMENT, VALUE, Path, Proposal, bare, inside
from floe_job.schema.rules import ColumnRules
from floe_job.types import Lookup
from floe_job.types.promotions import identifiers


class SchemaNeeds:
    """Compares the schemas of values with that of a table."""

    def __init__(self, table: Schema, lookup: Lookup, rules: ColumnRules) -> None:
        self._table = table
        self._lookup = lookup
        self._rules = rules
        self._identifiers = identifiers(table)

    def of(self, source: ConnectSchema, hidden: frozenset[str]) -> SchemaChanges:
        """Return what the table lacks; ``hidden``: top-level fields that count as absent.

        Raises Unnameable, NameTooLong, NestedTooDeep or TooManyColumns for columns that the table cannot get, and
        SchemaConflict for two types of one new column, if the rules say so.
        """
        found = SchemaChanges(rules=self._rules)
        fields = [(name, inner) for name, inner in source.fields if name not in hidden]
        self._struct(fields, self._table.as_struct(), (), found)
        self._check(found)
        return found

    def _struct(
        self, fields: Iterable[tuple[str, ConnectSchema]], target: StructType, path: Path, found: SchemaChanges
    ) -> None:
        names = self._lookup.of(target)
        columns = {field.name: field for field in target.fields}
        absent = dict(columns)
        new: dict[str, tuple[str, Proposal]] = {}
        for name, inner in fields:
            column = names.column(name)
            if column is not None:
                absent.pop(column, None)
                self._column(inner, columns[column], (*path, column), found)
            elif name not in names.names:
                proposal = proposal_of(inner, force_optional=self._rules.force_optional)
                if proposal is not None:
                    new.setdefault(same_name(name, self._rules), (name, proposal))
        found.update(((*path, name), proposal) for name, proposal in new.values())
        for field in absent.values():
            self._may_be_null(field, (*path, field.name), found)

    def _column(self, source: ConnectSchema, column: NestedField, path: Path, found: SchemaChanges) -> None:
        if source.optional:
            self._may_be_null(column, path, found)
        self._inside(source, column.field_type, path, found)

    def _inside(self, source: ConnectSchema, target: IcebergType, path: Path, found: SchemaChanges) -> None:
        if isinstance(target, StructType) and source.kind is Kind.STRUCT:
            self._struct(source.fields, target, path, found)
        elif isinstance(target, ListType) and source.kind is Kind.ARRAY:
            self._column(cast(ConnectSchema, source.element), target.element_field, (*path, ELEMENT), found)
        elif isinstance(target, MapType) and source.kind is Kind.MAP:
            self._column(cast(ConnectSchema, source.element), target.value_field, (*path, VALUE), found)
        elif isinstance(target, IntegerType) and source.kind is Kind.INT64 and source.name != logical.TIMESTAMP:
            found.widen({path: "long"}, {})
        elif isinstance(target, FloatType) and source.kind is Kind.FLOAT64:
            found.widen({path: "double"}, {})

    def _may_be_null(self, column: NestedField, path: Path, found: SchemaChanges) -> None:
        if column.required and column.field_id not in self._identifiers:
            found.widen({}, {path: None})

    def _check(self, found: SchemaChanges) -> None:
        new = [place for path, proposal in found.columns.items() for place in _all(path, proposal)]
        if not new:
            return
        known, taken = index_by_name(self._table).keys(), self._rules.taken
        check_count(len(index_by_id(self._table)) + len(taken - known) + len(new), new[0])
        for path in new:
            check_depth(path)
            check_name(path)
        names = [".".join(path) for path in new]
        check_reserved(names, self._rules.reserved)
        FullNames(known | taken).check(names, new[0])


def _all(path: Path, proposal: Proposal) -> Iterator[Path]:
    yield path
    for inner, nested in inside(path, bare(proposal)):
        yield from _all(inner, nested)
