"""Section 3.3 of the sink's behaviour, row by row, and where floe refuses what the sink bends."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID as UUID_

import pytest
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNanoType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.parquet.exceptions import UnsupportedColumn
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.exceptions import REASON_LENGTH, Unconvertible
from floe_job.schema.proposal import PLAIN
from floe_job.types import converter
from floe_job.types.numbers import HugeInteger, Literal

DAY = 86_400_000_000
MOMENT = 1_704_164_645_000_000  # 2024-01-02T03:04:05Z
UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"


ACCEPTED: list[tuple[IcebergType, Any, Any]] = [
    (IntegerType(), 7, 7),
    (IntegerType(), 1e3, 1000),
    (IntegerType(), "12", 12),
    (IntegerType(), "+12", 12),
    (IntegerType(), -1.0, -1),
    (LongType(), "123", 123),
    (LongType(), 2**63 - 1, 2**63 - 1),
    (LongType(), "-9223372036854775808", -(2**63)),
    (LongType(), 2.0, 2),
    (DoubleType(), 3, 3.0),
    (DoubleType(), " 1.5d ", 1.5),
    (DoubleType(), "1e3", 1000.0),
    (DoubleType(), 2**64, float(2**64)),
    (DoubleType(), "-12", -12.0),
    (FloatType(), "1.5", 1.5),
    (FloatType(), 3.4028235e38, 3.4028235e38),
    (DecimalType(9, 2), Literal("123.455"), Decimal("123.46")),
    (DecimalType(9, 2), 123.455, Decimal("123.46")),
    (DecimalType(9, 2), "-0.005", Decimal("-0.01")),
    (DecimalType(9, 2), "1e3", Decimal("1000.00")),
    (DecimalType(9, 2), 12, Decimal("12.00")),
    (DecimalType(9, 2), "1e-999999999", Decimal("0.00")),
    (DecimalType(38, 18), Literal("1234567890.123456789012345678"), Decimal("1234567890.123456789012345678")),
    (DecimalType(20, 0), 2**64 - 1, Decimal(2**64 - 1)),
    (BooleanType(), True, True),
    (BooleanType(), "TRUE", True),
    (BooleanType(), "False", False),
    (StringType(), "x", "x"),
    (StringType(), 12, "12"),
    (StringType(), 1.0, "1.0"),
    (StringType(), 1e10, "1.0E10"),
    (StringType(), 1234567.0, "1234567.0"),
    (StringType(), 12345678.9, "1.23456789E7"),
    (StringType(), 0.001, "0.001"),
    (StringType(), -0.00012, "-1.2E-4"),
    (StringType(), -5e-324, "-4.9E-324"),
    (StringType(), 1e-323, "9.9E-324"),
    (StringType(), -0.0, "-0.0"),
    (StringType(), True, "true"),
    (StringType(), {"a": [1, None, "é\n"], "b": 1e10}, '{"a":[1,null,"é\\n"],"b":1.0E10}'),
    (StringType(), {}, "{}"),
    (StringType(), [], "[]"),
    (StringType(), "2024-01-02", "2024-01-02"),
    (StringType(), ['a"b\\\x1f', False], '["a\\"b\\\\\\u001F",false]'),
    (UUIDType(), UUID.upper(), bytes.fromhex(UUID.replace("-", ""))),
    (UUIDType(), UUID, bytes.fromhex(UUID.replace("-", ""))),
    (BinaryType(), "aGk=", b"hi"),
    (BinaryType(), "aGk", b"hi"),
    (FixedType(2), "aGk=", b"hi"),
    (DateType(), "2024-01-02", 19724),
    (DateType(), 19724, 19724),
    (TimeType(), "12:34", 45_240_000_000),
    (TimeType(), "12:34:56.123456789", 45_296_123_456),
    (TimeType(), 1, 1000),
    (TimestamptzType(), 1_704_164_645_000, MOMENT),
    (TimestamptzType(), 1700000000.5, 1_700_000_000_500),
    (TimestamptzType(), "2024-01-02T03:04:05Z", MOMENT),
    (TimestamptzType(), "2024-01-02 03:04:05", MOMENT),
    (TimestamptzType(), "2024-01-02T03:04:05.123456789", MOMENT + 123_456),
    (TimestamptzType(), "2024-01-02T03:04:05+08", MOMENT - 8 * 3_600_000_000),
    (TimestamptzType(), "2024-01-02T03:04:05+0800", MOMENT - 8 * 3_600_000_000),
    (TimestamptzType(), "2024-01-02T03:04:05-08:00", MOMENT + 8 * 3_600_000_000),
    (TimestamptzType(), "2024-01-02T03:04+08:00", MOMENT - 5_000_000 - 8 * 3_600_000_000),
    (TimestamptzType(), "2024-01-02", 19724 * DAY),
    (TimestampType(), "2024-01-02T03:04:05-08:00", MOMENT),
    (TimestampType(), "2024-01-02t03:04:05z", MOMENT),
    (TimestampType(), 1_704_164_645_000, MOMENT),
    (TimestampType(), "2024-01-02 03:04", MOMENT - 5_000_000),
    (TimestampType(), "1969-12-31T23:59:59.999999", -1),
    (ListType(1, LongType(), element_required=False), [1, None, "3"], [1, None, 3]),
    (
        ListType(1, ListType(2, IntegerType(), element_required=False), element_required=False),
        [["1"], [], None],
        [[1], [], None],
    ),
    (MapType(1, DateType(), 2, LongType(), value_required=False), {"2024-01-02": "7"}, [(19724, 7)]),
    (MapType(1, IntegerType(), 2, StringType(), value_required=False), {"1": 2, "3": None}, [(1, "2"), (3, None)]),
    (
        StructType(NestedField(1, "a", LongType()), NestedField(2, "b", StringType())),
        {"a": 1, "z": 9},
        {"a": 1},
    ),
]


@pytest.mark.parametrize(("target", "value", "expected"), ACCEPTED)
def test_a_value_converts_by_its_target(target: IcebergType, value: Any, expected: Any) -> None:
    converted = converter(target)(value)
    assert converted == expected
    assert type(converted) is type(expected)


REFUSED: list[tuple[IcebergType, list[Any]]] = [
    (IntegerType(), ["abc", True, 1.9, 3_000_000_000, "3000000000", [], {}]),
    (LongType(), [" 5", "5.0", False, 2.7, 2**63, 1e19, float("inf"), "9" * 100, "1_0", "٣"]),
    (DoubleType(), ["abc", "", "1e400", float("inf"), 10**400, True, "0x10", [1]]),
    (FloatType(), [1e39, 3.4028236e38, "-1e39"]),
    (DecimalType(4, 2), [True, 100, "1e999999999", "abc", " 1", float("inf"), []]),
    (BooleanType(), ["yes", 1, 0, "", {}]),
    (StringType(), ["\ud800", {"a": "\ude00"}, float("inf"), [float("inf")], {"a": HugeInteger("1" * 5000)}]),
    (UUIDType(), [UUID.replace("-", ""), "x", 1]),
    (BinaryType(), ["a-_=", "a", "aGk==", 5, "aG k="]),
    (FixedType(4), ["aGk="]),
    (DateType(), ["20240102", "2024-01-02T00:00:00", "2024-02-30", "0000-01-01", 1.5, 10**9, True]),
    (TimeType(), ["12:34Z", "24:00", "12:60", 86_400_000, -1, True]),
    (
        TimestamptzType(),
        [
            "1700000000",
            "2024-01-02T03",
            "2024-01-02T24:00:00",
            "2024-01-02T03:04:05+18:01",
            "2024-01-02_03:04:05",
            10**18,
            0.0001,
            True,
            "9999-12-31T23:59:59-01:00",
        ],
    ),
    (ListType(1, LongType(), element_required=True), [{}, "x", [None], [1, "a"]]),
    (MapType(1, IntegerType(), 2, LongType(), value_required=True), [[], {"a": 1}, {"1": None}]),
    (StructType(NestedField(1, "a", LongType(), required=True)), ["x", [], {}, {"a": None}]),
]


@pytest.mark.parametrize(("target", "value"), [(target, value) for target, values in REFUSED for value in values])
def test_a_value_that_would_be_bent_is_refused(target: IcebergType, value: Any) -> None:
    with pytest.raises(Unconvertible):
        converter(target)(value)


def test_a_refusal_names_the_column_and_stays_short() -> None:
    inner = StructType(NestedField(2, "b", ListType(3, LongType(), element_required=False), required=False))
    convert = converter(StructType(NestedField(1, "a", inner, required=False)))
    with pytest.raises(Unconvertible, match=r"^column 'a\.b\.element': cannot convert string 'xxx") as refused:
        convert({"a": {"b": [1, "x" * 10_000_000]}})
    assert len(refused.value.reason) <= REASON_LENGTH


def test_a_decimal_too_large_says_so_in_the_words_of_the_sink() -> None:
    with pytest.raises(Unconvertible, match=r"cannot write value as decimal\(4,2\), too large"):
        converter(DecimalType(4, 2))(123.4)


def test_unwritable_column_type_is_an_error_of_the_table() -> None:
    with pytest.raises(UnsupportedColumn, match="timestamp_ns"):
        converter(TimestampNanoType())


def columns_around(target: IcebergType) -> Schema:
    """A column of a type at the top, in a struct, in a list, as a map's value, and three levels down."""
    element = ListType(20, StructType(NestedField(21, "v", target, required=False)), element_required=False)
    return assign_fresh_schema_ids(
        Schema(
            NestedField(1, "v", target, required=False),
            NestedField(2, "s", StructType(NestedField(3, "v", target, required=False)), required=False),
            NestedField(4, "l", ListType(5, target, element_required=False), required=False),
            NestedField(6, "m", MapType(7, StringType(), 8, target, value_required=False), required=False),
            NestedField(9, "d", StructType(NestedField(10, "l", element, required=False)), required=False),
        )
    )


def as_json(value: Any) -> str:
    return value.token if isinstance(value, Literal) else json.dumps(value)


@pytest.mark.parametrize(("target", "value"), [(target, value) for target, value, _ in ACCEPTED])
def test_a_value_converts_alike_at_every_depth(target: IcebergType, value: Any) -> None:
    text = as_json(value)
    record = f'{{"v":{text},"s":{{"v":{text}}},"l":[{text}],"m":{{"k":{text}}},"d":{{"l":[{{"v":{text}}}]}}}}'
    decoded = JsonDecoder(columns_around(target), PLAIN, create=False).decode([record.encode(), b"{}"])
    assert not decoded.rejected
    assert decoded.table is not None
    full, empty = decoded.table.to_pylist()
    assert full["v"] is not None
    assert full == {
        "v": full["v"],
        "s": {"v": full["v"]},
        "l": [full["v"]],
        "m": [("k", full["v"])],
        "d": {"l": [{"v": full["v"]}]},
    }
    assert set(empty.values()) == {None}


SHOWN: list[tuple[IcebergType, str, Any]] = [
    (IntegerType(), "12", 12),
    (FloatType(), "1.5", 1.5),
    (DecimalType(9, 2), "123.455", Decimal("123.46")),
    (UUIDType(), f'"{UUID}"', UUID_(UUID)),
    (BinaryType(), '"aGk="', b"hi"),
    (DateType(), '"2024-01-02"', date(2024, 1, 2)),
    (TimeType(), '"12:34"', time(12, 34)),
    (TimestamptzType(), '"2024-01-02T03:04:05+08:00"', datetime(2024, 1, 1, 19, 4, 5, tzinfo=UTC)),
    (TimestampType(), '"2024-01-02T03:04:05+08:00"', datetime(2024, 1, 2, 3, 4, 5)),  # noqa: DTZ001 - has no zone
]


@pytest.mark.parametrize(("target", "text", "expected"), SHOWN)
def test_a_column_shows_what_was_meant(target: IcebergType, text: str, expected: Any) -> None:
    schema = Schema(NestedField(1, "v", target, required=False))
    decoded = JsonDecoder(schema, PLAIN, create=False).decode([f'{{"v":{text}}}'.encode()])
    assert decoded.table is not None
    assert decoded.table.column("v")[0].as_py() == expected


def test_an_explicit_null_stays_null_and_so_does_a_missing_field() -> None:
    schema = Schema(NestedField(1, "v", LongType(), required=False, initial_default=7, write_default=7))
    decoded = JsonDecoder(schema, PLAIN, create=False).decode([b'{"v":null}', b"{}"])
    assert decoded.table is not None
    assert decoded.table.to_pylist() == [{"v": None}, {"v": None}]


def test_unknown_fields_of_a_struct_are_dropped_at_every_depth() -> None:
    decoded = JsonDecoder(columns_around(LongType()), PLAIN, create=False).decode(
        [b'{"s":{"v":1,"w":2},"d":{"x":1,"l":[{"w":1},{"v":2}]},"y":{"z":1}}']
    )
    assert decoded.table is not None
    assert decoded.table.to_pylist()[0] == {
        "v": None,
        "s": {"v": 1},
        "l": None,
        "m": None,
        "d": {"l": [{"v": None}, {"v": 2}]},
    }


@pytest.mark.parametrize(
    ("target", "good", "bad"),
    [
        (DecimalType(4, 2), "99.9", "123.4"),
        (DecimalType(38, 38), "0.1", "102.1"),
        (DecimalType(38, 10), "1234567890123456789012345678.5", "1234567890123456789012345678900"),
        (DecimalType(38, 0), "9" * 38, "1" + "0" * 38),
        (DecimalType(20, 18), "-99.9", "-1e3"),
    ],
)
def test_a_decimal_too_large_is_seen_in_a_whole_batch_as_well(target: DecimalType, good: str, bad: str) -> None:
    schema = Schema(NestedField(1, "v", target, required=False))
    records = [f'{{"v":{good}}}'.encode()] * 60
    decoded = JsonDecoder(schema, PLAIN, create=False).decode(records)
    assert decoded.fast_rows == 60
    assert decoded.table is not None
    assert decoded.table.column("v")[0].as_py() == Decimal(good)
    mixed = JsonDecoder(schema, PLAIN, create=False).decode([*records, f'{{"v":{bad}}}'.encode()])
    assert [rejected.index for rejected in mixed.rejected] == [60]
