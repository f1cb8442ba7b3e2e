"""Spark with Iceberg's runtime counts the rows of floe's tables right, whatever it is asked by."""

from __future__ import annotations

import pytest
from readers.conftest import Spark
from readers.filters import filters, is_apart
from readers.reader_tables import ReaderTable

AT_ONCE = 60


@pytest.mark.parametrize("name", ["plain", "partitioned"])
def test_spark_counts_every_filter_right(spark: Spark, tables: dict[str, ReaderTable], name: str) -> None:
    asked = [one for one in filters(tables[name]) if not is_apart(one)]
    wrong = []
    for some in _batched(asked, AT_ONCE):
        # what is counted this way is not pushed down: all rows are read and judged by Spark
        (expected,) = spark.ask(f"select {', '.join(f'count_if({one.sql})' for one in some)} from {name}")  # noqa: S608
        counts = " union all ".join(f"select {i}, count(*) from {name} where {one.sql}" for i, one in enumerate(some))  # noqa: S608
        found = dict(spark.ask(counts))
        wrong += [(one.sql, expected[i], found[i]) for i, one in enumerate(some) if found[i] != expected[i]]
    assert not wrong
    assert len(asked) > 100


def test_spark_finds_extremes_of_uuids(spark: Spark, tables: dict[str, ReaderTable]) -> None:
    sql = "select min(c_uuid), max(c_uuid), count(c_uuid) from plain"
    known = [row["c_uuid"] for row in tables["plain"].table.scan().to_arrow().to_pylist() if row["c_uuid"]]
    assert spark.ask(sql) == [[str(min(known)), str(max(known)), len(known)]]


def _batched(filters: list, size: int) -> list[list]:
    return [filters[i : i + size] for i in range(0, len(filters), size)]
