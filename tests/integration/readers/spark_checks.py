"""What Spark must say of a table of floe's: how many rows each filter finds, its metadata tables, and the files in them."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow.parquet as pq
from pyiceberg.types import BinaryType, FixedType, UUIDType

from tests.integration.readers import metadata_tables as metadata
from tests.integration.readers.filters import Filter, filters, is_apart, is_nan, value_of
from tests.integration.readers.metadata_tables import Row
from tests.integration.readers.reader_tables import Column, ReaderTable
from tests.integration.readers.spark_queries import Spark

PARALLELISM = 100

# Iceberg's Java library has no timestamps without a zone in partitions for code that is not generated
GENERATED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}


def wrong_counts(spark: Spark, table: ReaderTable) -> list[tuple[str, int, int]]:
    """Return the filters that find another number of rows than Spark counts by itself: SQL, rows there, rows found.

    The view of the table's name is asked.
    """
    asked = [one for one in filters(table) if not is_apart(one)]
    assert len(asked) > 100
    wrong = []
    for some in (asked[i : i + PARALLELISM] for i in range(0, len(asked), PARALLELISM)):
        # what is counted this way is not pushed down: all rows are read and judged by Spark
        (expected,) = spark.ask(f"select {', '.join(f'count_if({one.sql})' for one in some)} from {table.name}")  # noqa: S608
        found = _counted(spark, table.name, some)
        wrong += [
            (one.sql, expected[i], found.get(i, 0)) for i, one in enumerate(some) if found.get(i, 0) != expected[i]
        ]
    return wrong


def _counted(spark: Spark, name: str, some: list[Filter]) -> dict[int, int]:
    """Return how many rows each filter finds; one without rows is left out. Each is pushed down by itself."""
    rows = " union all ".join(f"select {i} as asked from {name} where {one.sql}" for i, one in enumerate(some))  # noqa: S608
    return dict(spark.ask(f"select asked, count(*) from ({rows}) group by asked"))  # noqa: S608


def metadata_rows(spark: Spark, table: ReaderTable, source: str) -> dict[str, list[Row]]:
    """Return the rows of all metadata tables as Spark has them, by their names.

    ``source``: what they are found by, which ends in ``#`` (a metadata file) or ``.`` (a table of a catalog).
    """
    return {name: _rows(spark, table, name, source) for name in metadata.NAMES}


def _rows(spark: Spark, table: ReaderTable, name: str, source: str) -> list[Row]:
    view = f"{table.name}_{name}"
    spark.view(view, f"{source}{name}")
    found = spark.ask(metadata.spark_rows(table.table, name, view), **GENERATED)
    return [metadata.from_spark(text) for (text,) in found]


def wrong_metadata(table: ReaderTable, shown: Mapping[str, list[Row]]) -> dict[str, list[str]]:
    """Return what differs from what the metadata tables have to show, by their names."""
    wrong = {}
    for one in metadata.NAMES:
        expected = metadata.expected(table.table, one)
        differing = metadata.difference(shown[one], expected)
        assert bool(expected) != (one in metadata.EMPTY)
        if differing:
            wrong[one] = differing
    return wrong


def wrong_files(spark: Spark, table: ReaderTable, shown: Mapping[str, list[Row]]) -> list[tuple[object, ...]]:
    """Return what Spark's metrics say wrongly of the rows of the files; counts of rows and files have to add up."""
    files = shown["files"]
    assert spark.ask(f"select count(*) from {table.name}") == [[sum(file["record_count"] for file in files)]]  # noqa: S608
    for count in ("record_count", "file_count"):
        total = len(files) if count == "file_count" else sum(file["record_count"] for file in files)
        assert sum(row[count] for row in shown["partitions"]) == total
    return [problem for file in files for problem in _problems(file, table)]


def _problems(file: Row, table: ReaderTable) -> Iterator[tuple[object, ...]]:
    """Yield what Spark's metrics say wrongly of the rows of a file."""
    with table.table.io.new_input(file["file_path"]).open() as stream:
        rows = pq.read_table(stream).to_pylist()
    for column in table.columns:
        values = [value_of(row, column.name) for row in rows]
        counts, bounds = _metrics(file, table, column)
        within = sorted(_comparable(value) for value in values if value is not None and not is_nan(value))
        if counts != (len(values), values.count(None)) or not _are_around(bounds, within, column):
            yield file["file_path"], column.name, counts, bounds, within


def _metrics(file: Row, table: ReaderTable, column: Column) -> tuple[tuple[int, int], tuple[Any, Any]]:
    """Return the counts of values and of nulls, and the bounds; those of UUIDs are not readable."""
    if not isinstance(column.kind.type, UUIDType):
        shown = file["readable_metrics"][column.name]
        return (shown["value_count"], shown["null_value_count"]), (shown["lower_bound"], shown["upper_bound"])
    field = str(table.table.schema().find_field(column.name).field_id)
    bounds = tuple(file[name].get(field) for name in ("lower_bounds", "upper_bounds"))
    return (file["value_counts"][field], file["null_value_counts"][field]), (bounds[0], bounds[1])


def _are_around(bounds: tuple[Any, Any], within: list[Any], column: Column) -> bool:
    """Say whether no value is outside; bounds may be missing inside of structs, of UUIDs, and of what is cut."""
    if not within:
        return bounds == (None, None)
    if None in bounds and "." not in column.name and not isinstance(column.kind.type, UUIDType | BinaryType):
        return False
    lower, upper = (None if one is None else _bound(column, one) for one in bounds)
    return (lower is None or lower <= within[0]) and (upper is None or within[-1] <= upper)


def _comparable(value: Any) -> Any:
    """Return a value in the order of its type; times as the text that Spark has for them."""
    if isinstance(value, UUID):
        return value.bytes
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds")
    if isinstance(value, float):
        return Decimal(repr(value))
    return str(value) if isinstance(value, date) else value


def _bound(column: Column, shown: Any) -> Any:
    """Return a bound of Spark's as the values are compared."""
    return base64.b64decode(shown) if isinstance(column.kind.type, BinaryType | FixedType | UUIDType) else shown
