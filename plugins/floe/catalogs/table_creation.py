"""Definition of a new table: its schema with identifier fields, its partition spec and its sort order.

Identifier fields are required columns, as Iceberg requires, and so are the structs around them. Records have no
schema that guarantees a value, so each record is checked. A record without such a column, or with null in it, is
rejected.
"""

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import TableProperties
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER, NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import DoubleType, FloatType, NestedField, StructType

from floe.catalogs.exceptions import TableUnsuitable
from floe.config import PartitionTerm
from floe.config.sections.field_terms import SortTerm
from floe.config.sections.schema_rules import OnUnsuitable
from floe.config.sections.table_properties import SHIPPED_RETENTION
from floe.config.sections.tables import TableSettings

log = logging.getLogger(__name__)

SHIPPED: Mapping[str, str] = {
    **SHIPPED_RETENTION,
    # else each commit leaves a manifest behind that all readers open, and a metadata file that is not used
    TableProperties.MANIFEST_MERGE_ENABLED: "true",
    TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED: "true",
}
"""Properties of new tables; those of the connector take precedence."""

FIRST_PARTITION_FIELD_ID = 1000
_NAMED_COLUMNS = 20
_ID_COLUMNS = "correct iceberg.table.{table}.id-columns or iceberg.tables.default-id-columns"
_PARTITION_BY = "correct iceberg.table.{table}.partition-by or iceberg.tables.default-partition-by"
_SORT_BY = "correct floe.table.{table}.sort-by"


@dataclass(frozen=True)
class NewTable:
    """The table that a catalog is to create."""

    schema: Schema
    spec: PartitionSpec
    sort_order: SortOrder

    @classmethod
    def of(cls, table: str, schema: Schema, settings: TableSettings, on_unsuitable: OnUnsuitable) -> "NewTable":
        """Fit a table's settings to the schema that its first records have.

        With ``unpartitioned``, a partitioning that does not fit is logged as an error and the table is not partitioned, as
        in the sink. Raises TableUnsuitable for anything else that does not fit.
        """
        try:
            spec = partition_spec(schema, settings.partition_by, table)
        except TableUnsuitable as error:
            if on_unsuitable == "fail":
                raise
            log.error("table %s is created unpartitioned (floe.partition.on-unsuitable): %s", table, error)
            spec = UNPARTITIONED_PARTITION_SPEC
        order = sort_order(schema, settings.sort_by, table)
        return cls(with_identifiers(schema, settings.id_columns, table), spec, order)


def partition_spec(schema: Schema, terms: tuple[PartitionTerm, ...], table: str) -> PartitionSpec:
    """Build the spec of a new table; field names are those of Iceberg's Java builder.

    Raises TableUnsuitable, naming the term, for a missing column or one that the transform does not support.
    """
    if not terms:
        return UNPARTITIONED_PARTITION_SPEC
    verb, remedy = "partitioned", _PARTITION_BY.format(table=table)
    fields = []
    for i, term in enumerate(terms):
        column, transform = _source(schema, term, table, verb, remedy)
        suffix = _SUFFIXES[term.transform]
        if suffix and f"{term.column}{suffix}" in schema.column_names:
            msg = (
                f"table {table!r} cannot be partitioned by {term}: the partition field would be called "
                f"{term.column + suffix!r}, as a column is; create the table yourself, or {remedy}"
            )
            raise TableUnsuitable(msg)
        fields.append(
            PartitionField(column.field_id, FIRST_PARTITION_FIELD_ID + i, transform, f"{term.column}{suffix}")
        )
    return PartitionSpec(*fields)


def sort_order(schema: Schema, terms: tuple[SortTerm, ...], table: str) -> SortOrder:
    """Build the sort order of a new table.

    Raises TableUnsuitable, naming the term, for a missing column or one that the transform does not support.
    """
    if not terms:
        return UNSORTED_SORT_ORDER
    fields = []
    for term in terms:
        column, transform = _source(schema, term.term, table, "sorted", _SORT_BY.format(table=table))
        direction = SortDirection.DESC if term.descending else SortDirection.ASC
        nulls = NullOrder.NULLS_FIRST if term.nulls_lead else NullOrder.NULLS_LAST
        fields.append(SortField(column.field_id, transform, direction, nulls))
    return SortOrder(*fields)


def with_identifiers(schema: Schema, columns: Collection[str], table: str) -> Schema:
    """Make columns, which may be inside structs, the schema's identifier fields: required, as are their parents.

    Raises TableUnsuitable, naming the column, for one that is missing or cannot identify a row.
    """
    if not columns:
        return schema
    remedy = _ID_COLUMNS.format(table=table)
    identifiers: dict[int, None] = {}
    required: set[int] = set()
    for name in columns:
        column = _find(schema, name, f"table {table!r} cannot have the id column {name!r}", remedy)
        path = _path(schema.as_struct(), column.field_id)
        if not path:
            problem = "it is inside a list or a map, so a row may have several values"
        elif not column.field_type.is_primitive or isinstance(column.field_type, FloatType | DoubleType):
            problem = f"it is of type {column.field_type}, and Iceberg takes no float, double, struct, list or map"
        else:
            identifiers[column.field_id] = None
            required.update(path)
            continue
        msg = f"table {table!r} cannot have the id column {name!r}: {problem}; {remedy}"
        raise TableUnsuitable(msg)
    fields = _with_required(schema.as_struct(), required)
    return Schema(*fields, schema_id=schema.schema_id, identifier_field_ids=list(identifiers))


def _source(
    schema: Schema, term: PartitionTerm, table: str, verb: str, remedy: str
) -> tuple[NestedField, Transform[Any, Any]]:
    """Find a term's column and transform. ``verb``: what cannot be done to the table because of it."""
    refused = f"table {table!r} cannot be {verb} by {str(term)!r}"
    transform = _transform(term)
    column = _find(schema, term.column, refused, remedy)
    if not transform.can_transform(column.field_type):
        msg = (
            f"{refused}: the column is of type {column.field_type}; create the table yourself with a suitable type, "
            f"or {remedy}"
        )
        raise TableUnsuitable(msg)
    if not _path(schema.as_struct(), column.field_id):
        msg = f"{refused}: the column is inside a list or a map, so a row may have several values; {remedy}"
        raise TableUnsuitable(msg)
    return column, transform


def _find(schema: Schema, name: str, refused: str, remedy: str) -> NestedField:
    try:
        return schema.find_field(name)
    except ValueError as error:
        known = sorted(schema.column_names)
        more = f" and {len(known) - _NAMED_COLUMNS} more" if len(known) > _NAMED_COLUMNS else ""
        msg = f"{refused}: the records have no such field (they have {known[:_NAMED_COLUMNS]}{more}); {remedy}"
        raise TableUnsuitable(msg) from error


def _path(struct: StructType, field_id: int) -> tuple[int, ...]:
    """Return the ids from the table's root to a field inside structs; empty if it is not there."""
    for field in struct.fields:
        if field.field_id == field_id:
            return (field_id,)
        if isinstance(field.field_type, StructType) and (inner := _path(field.field_type, field_id)):
            return (field.field_id, *inner)
    return ()


def _with_required(struct: StructType, required: Collection[int]) -> Iterator[NestedField]:
    for field in struct.fields:
        if field.field_id not in required:
            yield field
            continue
        kind = field.field_type
        inner = StructType(*_with_required(kind, required)) if isinstance(kind, StructType) else kind
        yield field.model_copy(update={"field_type": inner, "required": True})


_SUFFIXES = {
    "identity": "",
    "year": "_year",
    "month": "_month",
    "day": "_day",
    "hour": "_hour",
    "bucket": "_bucket",
    "truncate": "_trunc",
}


def _transform(term: PartitionTerm) -> Transform[Any, Any]:
    match term.transform:
        case "identity":
            return IdentityTransform()
        case "year":
            return YearTransform()
        case "month":
            return MonthTransform()
        case "day":
            return DayTransform()
        case "hour":
            return HourTransform()
        case "bucket":
            return BucketTransform(term.argument or 0)
        case "truncate":
            return TruncateTransform(term.argument or 0)
        case other:
            msg = f"transform {other!r} is not known; use identity, year, month, day, hour, bucket, truncate"
            raise TableUnsuitable(msg)
