"""Partition specs of new tables: Java's names, every transform, and what does not fit."""

import pytest
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.catalogs.exceptions import TableUnsuitable
from floe.catalogs.table_creation import partition_spec
from floe.config.sections.field_terms import PartitionTerm, parse_partition_by

TYPES = {
    "i": IntegerType(),
    "l": LongType(),
    "s": StringType(),
    "b": BinaryType(),
    "flag": BooleanType(),
    "f": DoubleType(),
    "n": DecimalType(9, 2),
    "d": DateType(),
    "t": TimeType(),
    "ts": TimestampType(),
    "tz": TimestamptzType(),
    "u": UUIDType(),
    "list": ListType(50, StringType(), element_required=False),
    "map": MapType(
        60, StringType(), 61, StructType(NestedField(62, "id", LongType(), required=False)), value_required=False
    ),
    "nested": StructType(NestedField(51, "ts", TimestampType(), required=False)),
}
SCHEMA = Schema(
    *(NestedField(i, name, type_, required=False) for i, (name, type_) in enumerate(TYPES.items(), start=1))
)


def fields(text: str) -> list[tuple[str, str, int, int]]:
    spec = partition_spec(SCHEMA, parse_partition_by(text), "rpc.pizzas")
    return [(f.name, str(f.transform), f.source_id, f.field_id) for f in spec.fields]


@pytest.mark.parametrize(
    ("term", "name", "transform"),
    [
        ("s", "s", "identity"),
        ("identity(s)", "s", "identity"),
        ("year(ts)", "ts_year", "year"),
        ("years(d)", "d_year", "year"),
        ("month(tz)", "tz_month", "month"),
        ("months(ts)", "ts_month", "month"),
        ("day(ts)", "ts_day", "day"),
        ("days(tz)", "tz_day", "day"),
        ("hour(ts)", "ts_hour", "hour"),
        ("hours(tz)", "tz_hour", "hour"),
        ("bucket(l, 16)", "l_bucket", "bucket[16]"),
        ("bucket(u, 4)", "u_bucket", "bucket[4]"),
        ("truncate(s, 10)", "s_trunc", "truncate[10]"),
        ("truncate(n, 50)", "n_trunc", "truncate[50]"),
        ("day(nested.ts)", "nested.ts_day", "day"),
    ],
)
def test_a_field_has_the_name_that_java_gives_it(term: str, name: str, transform: str) -> None:
    assert [field[:2] for field in fields(term)] == [(name, transform)]


def test_fields_keep_their_order_and_are_numbered_from_1000() -> None:
    assert fields("day(ts),bucket(l, 16),s") == [
        ("ts_day", "day", 10, 1000),
        ("l_bucket", "bucket[16]", 2, 1001),
        ("s", "identity", 3, 1002),
    ]


def test_no_terms_are_no_partitioning() -> None:
    assert partition_spec(SCHEMA, (), "t") == UNPARTITIONED_PARTITION_SPEC


@pytest.mark.parametrize("term", ["missing", "day(missing)", "bucket(nested.missing, 4)", "S"])
def test_missing_column_is_refused_with_the_existing_ones(term: str) -> None:
    with pytest.raises(
        TableUnsuitable, match=r"'rpc\.pizzas'.*no such field.*'flag'.*table\.rpc\.pizzas\.partition-by or .*default-"
    ):
        fields(term)


@pytest.mark.parametrize(
    "term",
    [
        "day(s)",
        "year(l)",
        "hour(d)",
        "month(t)",
        "bucket(f, 4)",
        "bucket(flag, 4)",
        "truncate(ts, 4)",
        "truncate(f, 4)",
        "list",
        "nested",
        "bucket(nested, 4)",
    ],
)
def test_transform_unfit_for_column_type_is_refused_by_name(term: str) -> None:
    with pytest.raises(TableUnsuitable, match=r"'rpc\.pizzas' cannot be partitioned by .*is of type"):
        fields(term)


def test_unknown_transform_is_refused_with_the_known_ones() -> None:
    with pytest.raises(TableUnsuitable, match=r"'zorder' is not known; use identity, year.*truncate"):
        partition_spec(SCHEMA, (PartitionTerm("zorder", "s"),), "t")


@pytest.mark.parametrize("term", ["list.element", "bucket(map.value.id, 4)"])
def test_a_column_inside_a_list_or_a_map_is_refused(term: str) -> None:
    with pytest.raises(TableUnsuitable, match=r"is inside a list or a map"):
        fields(term)


def test_partition_field_named_like_a_column_is_refused() -> None:
    schema = Schema(NestedField(1, "ts", TimestampType()), NestedField(2, "ts_day", StringType()))
    with pytest.raises(TableUnsuitable, match=r"day\(ts\).*'ts_day', as a column is"):
        partition_spec(schema, parse_partition_by("day(ts)"), "t")
    assert len(partition_spec(schema, parse_partition_by("ts_day"), "t").fields) == 1
