"""The columns that name the record a row came from, as KafkaMetadataTransform writes them."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.expressions import And, BooleanExpression, GreaterThanOrEqual, In, IsNull, LessThan, Or, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, IntegerType, LongType, StringType

from floe.config import Connector
from floe.config.sections.transforms import source_columns
from floe.config.transforms.options import SourceColumnNames
from floe.config.transforms.python_class import PythonClass
from floe.model.ranges import OffsetRange
from floe.tables.exceptions import TableRefused

_INTEGERS: tuple[type[IcebergType], ...] = (IntegerType, LongType)


@dataclass(frozen=True)
class OriginColumns:
    """The columns of a row's topic, partition and offset: paths of names, the last of them a column of its own type."""

    topic: tuple[str, ...]
    partition: tuple[str, ...]
    offset: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, connector: Connector) -> "OriginColumns":
        """Find the columns of a table by the connector's transforms. Raises TableRefused, naming what to add."""
        name = ".".join(table.name())
        check_has_transform(name, connector)
        problems = []
        for names in source_columns(connector.transforms, connector.routing.field):
            wrong = _problems(table.schema(), names)
            if not wrong:
                return cls(names.topic, names.partition, names.offset)
            problems += wrong
        msg = (
            f"the rows of table {name!r} do not record their source offsets, so none can be replaced: {problems[0]}. "
            f"{_REMEDY}"
        )
        raise TableRefused(msg, code="FLOE-305")

    @property
    def names(self) -> tuple[str, str, str]:
        """The columns as scans and their filters know them: no text of a filter takes every name that a column may have."""
        topic, partition, offset = (".".join(path) for path in (self.topic, self.partition, self.offset))
        return topic, partition, offset

    def condition(self, ranges: Sequence[OffsetRange]) -> BooleanExpression:
        """Return a filter that all rows of some ranges pass; of several ranges others between them may, too."""
        topic, partition, offset = map(Reference, self.names)
        return And(
            In(term=topic, values={literal(r.topic) for r in ranges}),
            In(term=partition, values={literal(r.partition) for r in ranges}),
            GreaterThanOrEqual(term=offset, value=literal(min(r.start for r in ranges))),
            LessThan(term=offset, value=literal(max(r.end for r in ranges))),
        )

    def values(self, rows: pa.RecordBatch) -> tuple[pa.Array, pa.Array, pa.Array]:
        """Return topics, partitions and offsets of rows."""
        topic, partition, offset = (_column(rows, path) for path in (self.topic, self.partition, self.offset))
        return topic, partition, offset

    def unknown(self) -> BooleanExpression:
        """Return a filter of rows that do not record their source."""
        topic, partition, offset = map(Reference, self.names)
        return Or(IsNull(term=topic), IsNull(term=partition), IsNull(term=offset))

    def mask(self, rows: pa.RecordBatch, ranges: Sequence[OffsetRange]) -> pa.BooleanArray:
        """Return for each row whether it came from one of the ranges. Raises TableRefused for rows without a source."""
        topic, partition, offset = self.values(rows)
        if any(column.null_count for column in (topic, partition, offset)):
            raise TableRefused(UNKNOWN_ROWS, code="FLOE-305")
        found: pa.BooleanArray = pc.is_null(topic)  # none is
        for r in ranges:
            place = pc.and_(pc.equal(topic, r.topic), pc.equal(partition, r.partition))
            inside = pc.and_(pc.greater_equal(offset, r.start), pc.less(offset, r.end))
            found = pc.or_(found, pc.and_(place, inside))
        return found


def check_has_transform(table: str, connector: Connector) -> None:
    """Raise TableRefused when the connector writes no such columns."""
    if source_columns(connector.transforms, connector.routing.field):
        return
    reason, remedy = "the connector has no KafkaMetadataTransform", _REMEDY
    place = max((at for at, spec in enumerate(connector.transforms) if spec.options.source_columns), default=None)
    if place is not None:
        reason, wanted = _obstacle(connector, place)
        remedy = f"No row was changed. Replay the range with overlap=skip into a new table, by a connector {wanted}"
    msg = f"the rows of table {table!r} do not record their source offsets, so none can be replaced: {reason}. {remedy}"
    raise TableRefused(msg, code="FLOE-305")


def _obstacle(connector: Connector, place: int) -> tuple[str, str]:
    """Return why the columns of the KafkaMetadataTransform at a place do not say where rows come from, and who has no such.

    What may give records another topic comes first: without it the others can be in their order.
    """
    metadata, behind = connector.transforms[place], connector.transforms[place + 1 :]
    renaming = next((spec for spec in connector.transforms if spec.options.renames_topic), None)
    if renaming is not None:
        what = "is a class in Python, which may give" if isinstance(renaming.options, PythonClass) else "may give"
        then = "follows KafkaMetadataTransform" if renaming in behind else "the column of the topic has that one"
        return f"transform {renaming.alias!r} {what} records another topic, and {then}", "without that transform"
    if metadata.predicate is not None:
        return (
            f"transform {metadata.alias!r} has a predicate, so other rows have no such columns",
            "without the predicate",
        )
    other = next((spec for spec in behind if not spec.is_columnar), None)
    if other is not None:
        last = "whose last transform is KafkaMetadataTransform"
        return f"transform {other.alias!r} follows KafkaMetadataTransform, and may change its columns", last
    return f"the columns of transform {metadata.alias!r} route records", "that routes by something else"


UNKNOWN_ROWS = (
    "it has rows without topic, partition or offset, written before the transform was configured, or by another process. "
    "floe cannot determine their source, and replacing might duplicate them. No row was changed. Fill in these columns, or "
    "replay into a new table"
)

_REMEDY = (
    "No row was changed. Replay the range with overlap=skip into a new table, by a connector without that transform, or "
    "whose last one is KafkaMetadataTransform"
)

_REMEDY = (
    'Add "transforms": "meta", "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform" to '
    "the connector. Rows written from then on can be replaced. Replay earlier ones with overlap=skip into a new table"
)


def _problems(schema: Schema, names: SourceColumnNames) -> list[str]:
    wanted = ((names.topic, (StringType,)), (names.partition, _INTEGERS), (names.offset, _INTEGERS))
    return [problem for path, types in wanted if (problem := _problem(schema, path, types))]


def _problem(schema: Schema, path: tuple[str, ...], types: tuple[type[IcebergType], ...]) -> str | None:
    name = ".".join(path)
    try:
        kind = schema.find_field(name).field_type
    except ValueError:
        return f"it has no column {name!r}"
    if not isinstance(kind, types):
        wanted = "int or long" if types == _INTEGERS else "string"
        return f"its column {name!r} is of type {kind}, and must be {wanted}"
    return None


def _column(rows: pa.RecordBatch, path: tuple[str, ...]) -> pa.Array:
    column = rows.column(path[0])
    return column if len(path) == 1 else pc.struct_field(column, list(path[1:]))
