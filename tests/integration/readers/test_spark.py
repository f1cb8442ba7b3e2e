"""Spark with Iceberg's runtime counts the rows of floe's tables right, whatever it is asked by."""

from __future__ import annotations

import pytest
from readers.conftest import READ_BY_SPARK, Spark
from readers.filters import Filter, filters, is_apart
from readers.reader_tables import ReaderTable

AT_ONCE = 100
EACH = pytest.mark.parametrize("name", READ_BY_SPARK)


@EACH
def test_spark_counts_every_filter_right(spark: Spark, tables: dict[str, ReaderTable], name: str) -> None:
    asked = [one for one in filters(tables[name]) if not is_apart(one)]
    wrong = []
    for some in (asked[i : i + AT_ONCE] for i in range(0, len(asked), AT_ONCE)):
        # what is counted this way is not pushed down: all rows are read and judged by Spark
        (expected,) = spark.ask(f"select {', '.join(f'count_if({one.sql})' for one in some)} from {name}")  # noqa: S608
        found = _counted(spark, name, some)
        wrong += [
            (one.sql, expected[i], found.get(i, 0)) for i, one in enumerate(some) if found.get(i, 0) != expected[i]
        ]
    assert not wrong
    assert len(asked) > 100


def _counted(spark: Spark, name: str, some: list[Filter]) -> dict[int, int]:
    """Return how many rows each filter finds; one without rows is left out. Each is pushed down by itself."""
    rows = " union all ".join(f"select {i} as asked from {name} where {one.sql}" for i, one in enumerate(some))  # noqa: S608
    return dict(spark.ask(f"select asked, count(*) from ({rows}) group by asked"))  # noqa: S608


def test_spark_finds_extremes_of_uuids(spark: Spark, tables: dict[str, ReaderTable]) -> None:
    sql = "select min(c_uuid), max(c_uuid), count(c_uuid) from plain"
    known = [row["c_uuid"] for row in tables["plain"].table.scan().to_arrow().to_pylist() if row["c_uuid"]]
    assert spark.ask(sql) == [[str(min(known)), str(max(known)), len(known)]]
