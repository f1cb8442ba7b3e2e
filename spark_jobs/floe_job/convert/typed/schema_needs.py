"""What a table lacks for values of a schema, found by comparing the two, without reading a value.

As the sink does with records that have a schema: a field without a column is a new column, an int64 makes an int column a
long, a float64 makes a float column a double, and what may be null, or is not there, makes its column optional.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Final, NamedTuple, cast

from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.types import FloatType, IcebergType, IntegerType, ListType, MapType, NestedField, StructType

from floe_job.connect import debezium, logical
from floe_job.connect.arrow import MAX_DIGITS, is_decimal, scale_of
from floe_job.connect.schema import ConnectSchema, Kind
from floe_job.schema.evolution import SchemaChanges
from floe_job.schema.inference import same_name
from floe_job.schema.limits import FullNames, check_count, check_depth, check_name, check_reserved
from floe_job.schema.proposal import (
    ELEMENT,
    VALUE,
    ColumnRules,
    ListOf,
    MapOf,
    Path,
    Proposal,
    Required,
    StructOf,
    bare,
    inside,
)
from floe_job.types import Lookup
from floe_job.types.coercion import StructLookup, identifiers


class _Struct(NamedTuple):
    """A struct of the table. ``required``: its columns that may be made optional."""

    names: StructLookup
    columns: Mapping[str, NestedField]
    required: Mapping[str, NestedField]


class SchemaNeeds:
    """Compares the schemas of values with that of a table."""

    def __init__(self, table: Schema, lookup: Lookup, rules: ColumnRules) -> None:
        self._table = table
        self._lookup = lookup
        self._rules = rules
        self._identifiers = identifiers(table)
        self._top = table.as_struct()
        self._known: dict[Path, _Struct] = {}

    def of(self, source: ConnectSchema, hidden: frozenset[str]) -> SchemaChanges:
        """Return what the table lacks; ``hidden``: top-level fields that count as absent.

        Raises Unnameable, NameTooLong, NestedTooDeep or TooManyColumns for columns that the table cannot get, and
        SchemaConflict for two types of one new column, if the rules say so.
        """
        found = SchemaChanges(rules=self._rules)
        fields = [(name, inner) for name, inner in source.fields if name not in hidden]
        self._struct(fields, self._top, (), found)
        self._check(found)
        return found

    def _struct(
        self, fields: Iterable[tuple[str, ConnectSchema]], target: StructType, path: Path, found: SchemaChanges
    ) -> None:
        names, columns, required = self._struct_at(path, target)
        absent = dict(required)
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

    def _struct_at(self, path: Path, target: StructType) -> _Struct:
        if path not in self._known:
            required = {
                one.name: one for one in target.fields if one.required and one.field_id not in self._identifiers
            }
            columns = {field.name: field for field in target.fields}
            self._known[path] = _Struct(self._lookup.of(target), columns, required)
        return self._known[path]

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

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(index_by_name(self._table))

    @cached_property
    def _count(self) -> int:
        return len(index_by_id(self._table))

    def _check(self, found: SchemaChanges) -> None:
        new = [place for path, proposal in found.columns.items() for place in _all(path, proposal)]
        if not new:
            return
        known, taken = self._names, self._rules.taken
        check_count(self._count + len(taken - known) + len(new), new[0])
        for path in new:
            check_depth(path)
            check_name(path)
        names = [".".join(path) for path in new]
        check_reserved(names, self._rules.reserved)
        FullNames(known | taken, twins=self._rules.case_twins).check(names, new[0])


def _all(path: Path, proposal: Proposal) -> Iterator[Path]:
    yield path
    for inner, nested in inside(path, bare(proposal)):
        yield from _all(inner, nested)


# The columns that a schema of Connect proposes, as the sink makes them.
#
# int8, int16, int32 → int · int64 → long · float32 → float · float64 → double · string, boolean, bytes → themselves ·
# Decimal → decimal(38, scale) · Date → date · Time → time · Timestamp → timestamptz · array → list · map · struct
#
# Avro's micros and local timestamps, which are plain longs to the sink, propose what Avro says they are. So do
# Debezium's semantic types (``floe_job.connect.debezium``) where a column can hold all their values: nanoseconds stay
# longs, and decimals of any scale become text.


_PLAIN: Final[dict[Kind, str]] = {
    Kind.BOOLEAN: "boolean",
    Kind.INT8: "int",
    Kind.INT16: "int",
    Kind.INT32: "int",
    Kind.INT64: "long",
    Kind.FLOAT32: "float",
    Kind.FLOAT64: "double",
    Kind.STRING: "string",
    Kind.BYTES: "binary",
}
_LOGICAL: Final[dict[tuple[Kind, str], str]] = {
    (Kind.INT32, logical.DATE): "date",
    (Kind.INT32, logical.TIME): "time",
    (Kind.INT64, logical.TIMESTAMP): "timestamptz",
    (Kind.INT64, logical.AVRO_TIME_MICROS): "time",
    (Kind.INT64, logical.AVRO_TIMESTAMP_MICROS): "timestamptz",
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MILLIS): "timestamp",
    (Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MICROS): "timestamp",
    (Kind.STRING, logical.UUID): "uuid",
}
_MEANT: Final[dict[str, str]] = {
    debezium.DATE: "date",
    debezium.TIME_MILLIS: "time",
    debezium.TIME_MICROS: "time",
    debezium.TIMESTAMP_MILLIS: "timestamp",
    debezium.TIMESTAMP_MICROS: "timestamp",
    debezium.ZONED_TIMESTAMP: "timestamptz",
    debezium.ISO_DATE: "date",
    debezium.ISO_TIME: "time",
    debezium.ISO_TIMESTAMP: "timestamp",
    debezium.UUID: "uuid",
    debezium.DECIMAL: "string",
}


def proposal_of(schema: ConnectSchema, *, force_optional: bool = False) -> Proposal | None:
    """Propose a column for a schema; None for a struct without fields, and for what holds nothing else.

    What its schema requires is required, unless ``force_optional`` (``iceberg.tables.schema-force-optional``).
    """
    bare = _bare(schema, force_optional=force_optional)
    return bare if bare is None or schema.optional or force_optional else Required(bare)


def _bare(schema: ConnectSchema, *, force_optional: bool) -> str | ListOf | MapOf | StructOf | None:
    if meant := _MEANT.get(debezium.meaning_of(schema)):
        return meant
    if schema.kind is Kind.STRUCT:
        found = ((name, proposal_of(inner, force_optional=force_optional)) for name, inner in schema.fields)
        fields = tuple((name, proposal) for name, proposal in found if proposal is not None)
        return StructOf(fields) if fields else None
    if schema.kind is Kind.ARRAY:
        element = proposal_of(cast(ConnectSchema, schema.element), force_optional=force_optional)
        return None if element is None else ListOf(element)
    if schema.kind is Kind.MAP:
        key = _bare(cast(ConnectSchema, schema.key), force_optional=True)
        value = proposal_of(cast(ConnectSchema, schema.element), force_optional=force_optional)
        return None if key is None or value is None else MapOf(key, value)
    if is_decimal(schema):
        return f"decimal({MAX_DIGITS}, {scale_of(schema)})"
    return _LOGICAL.get((schema.kind, schema.name or ""), _PLAIN[schema.kind])
