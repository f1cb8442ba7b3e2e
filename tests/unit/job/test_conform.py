"""Section 3.3 of the sink's behaviour, row by row, and where floe refuses what the sink bends."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
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

from floe_job.conform import converter
from floe_job.conform.numbers import Literal
from floe_job.exceptions import REASON_LENGTH, Unconvertible, UnsupportedColumn

DAY = 86_400_000_000
MOMENT = 1_704_164_645_000_000  # 2024-01-02T03:04:05Z
UUID = "f79c3e09-677c-4bbd-a479-3f349cb785e7"


@pytest.mark.parametrize(
    ("target", "value", "expected"),
    [
        (IntegerType(), 7, 7),
        (IntegerType(), 1e3, 1000),
        (IntegerType(), "12", 12),
        (IntegerType(), "+12", 12),
        (LongType(), 2**63 - 1, 2**63 - 1),
        (LongType(), "-9223372036854775808", -(2**63)),
        (LongType(), 2.0, 2),
        (DoubleType(), 3, 3.0),
        (DoubleType(), " 1.5d ", 1.5),
        (DoubleType(), "1e3", 1000.0),
        (DoubleType(), 2**64, float(2**64)),
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
        (StringType(), -0.0, "-0.0"),
        (StringType(), True, "true"),
        (StringType(), {"a": [1, None, "é\n"], "b": 1e10}, '{"a":[1,null,"é\\n"],"b":1.0E10}'),
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
        (TimestampType(), "1969-12-31T23:59:59.999999", -1),
        (ListType(1, LongType(), element_required=False), [1, None, "3"], [1, None, 3]),
        (MapType(1, IntegerType(), 2, StringType(), value_required=False), {"1": 2, "3": None}, [(1, "2"), (3, None)]),
        (
            StructType(NestedField(1, "a", LongType()), NestedField(2, "b", StringType())),
            {"a": 1, "z": 9},
            {"a": 1, "b": None},
        ),
    ],
)
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
    (StringType(), ["\ud800", {"a": "\ude00"}, float("inf")]),
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
            "2024-01-02t03:04:05",
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


def test_a_column_type_that_cannot_be_written_is_an_error_of_the_table() -> None:
    with pytest.raises(UnsupportedColumn, match="timestamp_ns"):
        converter(TimestampNanoType())
