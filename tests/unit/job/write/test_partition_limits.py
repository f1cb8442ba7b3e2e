"""Numbers that Iceberg cannot truncate: the record is refused, and the others have their rows."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform, TruncateTransform
from pyiceberg.types import DecimalType, IcebergType, IntegerType, LongType, NestedField, StructType

from floe.control.data_files import to_pyiceberg
from floe.model.accounting import TableCounts
from floe_job.contract.task import TableTarget
from floe_job.write.partition_limits import PartitionLimits
from floe_job.write.table_rows import TableRows
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.transforms import metadata
from tests.support.kafka.messages import PIECE, RANGE, records
from tests.support.tables.parquet_tables import TableFactory, commit, spec

NARROW = Schema(NestedField(1, "d", DecimalType(9, 2), required=False))
TRUNCATED = spec((1, TruncateTransform(1000), "d_trunc"))


def target_of(table: Any, **over: Any) -> TableTarget:
    return TableTarget(
        **{"name": "ns.t", "metadata": table.metadata, "io": table.io, "properties": table.properties, **over}
    )


def test_record_without_partition_becomes_a_dead_letter(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(NARROW, TRUNCATED)), 0, JSON_CONVERTERS)
    values = [b'{"d":1}', b'{"d":"x"}', b'{"d":-9999999.99}', b'{"d":-9999990.00}', b'{"d":9999999.99}', b"{}"]
    dead_letters = writer.take(records(PIECE, values))
    assert [(dead_letter.offset, dead_letter.stage, dead_letter.error) for dead_letter in dead_letters] == [
        (1, "coerce", "Unconvertible"),
        (2, "coerce", "Unconvertible"),
    ]
    assert dead_letters[1].reason == (
        "column 'd': -9999999.99 has no partition: truncate[1000] takes it below what decimal(9, 2) holds"
    )
    result = writer.close(complete=True)
    assert result.counts == TableCounts(assigned=6, rows=4, dead=2)
    assert result.files is not None
    assert {str(file.partition[0]) for file in result.files.files} == {"0.00", "-9999990.00", "9999990.00", "None"}


def test_nothing_but_such_records_is_no_file(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(NARROW, TRUNCATED)), 0, JSON_CONVERTERS)
    assert len(writer.take(records(PIECE, [b'{"d":-9999999.99}'] * 2))) == 2
    result = writer.close(complete=True)
    assert (result.counts, result.files) == (TableCounts(assigned=2, dead=2), None)


def test_letters_name_the_record_beside_metadata_columns(new_table: TableFactory) -> None:
    schema = Schema(*NARROW.fields, NestedField(2, "m_offset", LongType(), required=False))
    table = new_table(schema, TRUNCATED)
    writer = TableRows(target_of(table, transforms=(metadata("m"),)), 0, JSON_CONVERTERS)
    values = [b'{"d":"x"}', b'{"d":1}', b'{"d":-9999999.99}', b'{"d":2}']
    assert [dead_letter.offset for dead_letter in writer.take(records(PIECE, values))] == [0, 2]
    result = writer.close(complete=True)
    assert result.counts == TableCounts(assigned=4, rows=2, dead=2)


def test_only_a_table_with_limits_wants_to_see_every_record(new_table: TableFactory) -> None:
    for how, is_plain in ((TruncateTransform(1000), False), (BucketTransform(4), True), (IdentityTransform(), True)):
        table = new_table(NARROW, spec((1, how, "p")))
        assert TableRows(target_of(table), 0, JSON_CONVERTERS).is_plain(RANGE) is is_plain


@pytest.mark.parametrize(
    ("of", "width", "least"),
    [
        (DecimalType(9, 2), 1000, "-9999990.00"),
        (DecimalType(38, 10), 7, "-9999999999999999999999999999.9999999998"),
        (DecimalType(38, 0), 2**31 - 1, None),
        (DecimalType(2, 0), 1000, "0"),
    ],
)
def test_the_least_value_with_a_partition_is_the_last_multiple(of: DecimalType, width: int, least: str | None) -> None:
    """38 nines are more than Python's decimals compute with by default."""
    schema = Schema(NestedField(1, "d", of, required=False))
    limits = PartitionLimits(spec((1, TruncateTransform(width), "p")), schema)
    bottom = -(10**of.precision - 1)
    last = bottom // width * width + width
    if least is not None:
        assert Decimal(least) == Decimal((1, tuple(map(int, str(-last))), -of.scale))
    values = [Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -of.scale)) for n in (last - 1, last, bottom, 0)]
    rows = pa.Table.from_arrays([pa.array([*values, None], pa.decimal128(of.precision, of.scale))], names=["d"])
    assert set(limits.refused(rows)) == {0, 2}


@pytest.mark.parametrize(
    ("of", "width", "least"),
    [
        (LongType(), 10, -(2**63) + 8),
        (IntegerType(), 10, -(2**31) + 8),
        (IntegerType(), 2**31 - 1, -(2**31) + 1),
        (LongType(), 16, None),
        (IntegerType(), 1, None),
    ],
    ids=str,
)
def test_integers_below_the_least_multiple_have_no_partition(of: IcebergType, width: int, least: int | None) -> None:
    limits = PartitionLimits(spec((1, TruncateTransform(width), "p")), Schema(NestedField(1, "i", of, required=False)))
    assert bool(limits) is (least is not None)
    bits = 64 if isinstance(of, LongType) else 32
    values = [-(2 ** (bits - 1)), least - 1 if least else 0, least, 2 ** (bits - 1) - 1, None]
    rows = pa.Table.from_arrays([pa.array(values, pa.int64() if bits == 64 else pa.int32())], names=["i"])
    assert set(limits.refused(rows)) == (set() if least is None else {0, 1})


def test_filters_find_the_least_integers_that_have_a_partition(new_table: TableFactory) -> None:
    table = new_table(Schema(NestedField(1, "i", LongType(), required=False)), spec((1, TruncateTransform(10), "p")))
    writer = TableRows(target_of(table), 0, JSON_CONVERTERS)
    values = [-(2**63), -(2**63) + 7, -(2**63) + 8, -5, 2**63 - 1]
    dead_letters = writer.take(records(PIECE, [b'{"i":%d}' % value for value in values]))
    assert [dead_letter.offset for dead_letter in dead_letters] == [0, 1]
    assert dead_letters[0].reason.endswith("has no partition: truncate[10] takes it below what long holds")
    files = writer.close(complete=True).files
    assert files is not None
    found = commit(table, [to_pyiceberg(file, files.partition_type) for file in files.files])
    assert found.num_rows == 3
    for text, count in (("i < 0", 2), (f"i <= {-(2**63) + 8}", 1), (f"i = {2**63 - 1}", 1), (f"i < {2**63 - 1}", 2)):
        assert table.refresh().scan(text).to_arrow().num_rows == count, text


@pytest.mark.parametrize("how", [TruncateTransform(1), IdentityTransform(), BucketTransform(8)], ids=str)
def test_other_transforms_of_decimals_have_no_limits(how: Transform[Any, Any]) -> None:
    assert not PartitionLimits(spec((1, how, "p")), NARROW)


def test_a_limit_may_be_inside_a_struct_and_there_may_be_several() -> None:
    inner = StructType(NestedField(3, "d", DecimalType(4, 0), required=False))
    schema = Schema(NestedField(1, "d", DecimalType(4, 0)), NestedField(2, "s", inner, required=False))
    limits = PartitionLimits(spec((3, TruncateTransform(1000), "p"), (1, TruncateTransform(10), "q")), schema)
    rows = pa.Table.from_pylist(
        [
            {"d": Decimal(1), "s": None},
            {"d": Decimal(-9995), "s": {"d": Decimal(-9500)}},
            {"d": Decimal(1), "s": {"d": Decimal(-9500)}},
            {"d": Decimal(-9995), "s": {"d": None}},
        ],
        schema=schema_to_pyarrow(schema),
    )
    refused = limits.refused(rows)
    assert sorted(refused) == [1, 2, 3]
    assert [refused[index].split(":")[0] for index in (1, 2, 3)] == ["column 's.d'", "column 's.d'", "column 'd'"]


def test_null_struct_around_required_partition_column_is_refused(new_table: TableFactory) -> None:
    inner = StructType(NestedField(2, "x", LongType(), required=True))
    table = new_table(Schema(NestedField(1, "s", inner, required=False)), spec((2, IdentityTransform(), "p")))
    writer = TableRows(target_of(table), 0, JSON_CONVERTERS)
    dead_letters = writer.take(records(PIECE, [b'{"s":null}', b'{"s":{"x":1}}', b"{}"]))
    assert [(dead_letter.offset, dead_letter.stage) for dead_letter in dead_letters] == [(0, "coerce"), (2, "coerce")]
    assert dead_letters[0].reason.startswith("column 's.x': null with its struct, and the table is partitioned by it")
    assert writer.close(complete=True).counts == TableCounts(assigned=3, rows=1, dead=2)


@pytest.mark.parametrize(("outer", "inner"), [(True, True), (True, False), (False, False)])
def test_other_columns_inside_structs_may_be_null_or_never_are(outer: bool, inner: bool) -> None:
    of = StructType(NestedField(2, "x", LongType(), required=inner))
    schema = Schema(NestedField(1, "s", of, required=outer))
    assert not PartitionLimits(spec((2, IdentityTransform(), "p")), schema)


def test_spec_of_removed_columns_is_ignored_by_limits() -> None:
    assert not PartitionLimits(spec((99, TruncateTransform(10), "p")), NARROW)
