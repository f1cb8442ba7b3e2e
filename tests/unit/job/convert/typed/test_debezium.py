"""Debezium's semantic types, read as what they mean: new columns, existing ones, and what is not exact."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import (
    DateType,
    DecimalType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe_job.connect import debezium
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.convert.typed import table as typed_table
from floe_job.convert.typed.columns import uuids
from floe_job.convert.typed.table import TypedTable
from floe_job.schema.proposal import ColumnRules
from tests.support.job.given_values import GivenValues

TIME = "io.debezium.time."
DATA = "io.debezium.data."
NANOS_OF_A_DAY = 86_400 * 10**9
ON, OFF = ColumnRules(evolve=True, debezium_types=True), ColumnRules(evolve=True)


def of(kind: Kind, name: str) -> ConnectSchema:
    return ConnectSchema(kind, optional=True, name=name)


DATE, MILLIS_TIME = of(Kind.INT32, TIME + "Date"), of(Kind.INT32, TIME + "Time")
MICRO_TIME, NANO_TIME = of(Kind.INT64, TIME + "MicroTime"), of(Kind.INT64, TIME + "NanoTime")
MILLIS, MICROS = of(Kind.INT64, TIME + "Timestamp"), of(Kind.INT64, TIME + "MicroTimestamp")
NANOS, ZONED = of(Kind.INT64, TIME + "NanoTimestamp"), of(Kind.STRING, TIME + "ZonedTimestamp")
ISO_DATE, ISO_TIME = of(Kind.STRING, TIME + "IsoDate"), of(Kind.STRING, TIME + "IsoTime")
ISO_STAMP, UUID = of(Kind.STRING, TIME + "IsoTimestamp"), of(Kind.STRING, DATA + "Uuid")
NUMBER = struct(
    {"scale": ConnectSchema(Kind.INT32), "value": ConnectSchema(Kind.BYTES)},
    name=DATA + "VariableScaleDecimal",
    optional=True,
)
AS_THEY_ARE = [
    (of(Kind.STRING, DATA + "Json"), "string"),
    (of(Kind.STRING, DATA + "Xml"), "string"),
    (of(Kind.STRING, DATA + "Enum"), "string"),
    (of(Kind.BYTES, DATA + "Bits"), "binary"),
    (of(Kind.INT32, TIME + "Year"), "int"),
    (of(Kind.INT64, TIME + "MicroDuration"), "long"),
    (of(Kind.STRING, TIME + "ZonedTime"), "string"),
    (of(Kind.STRING, TIME + "Date"), "string"),
    (of(Kind.INT64, TIME + "Own"), "long"),
]
NEW = [
    (DATE, "date", "int"),
    (MILLIS_TIME, "time", "int"),
    (MICRO_TIME, "time", "long"),
    (NANO_TIME, "long", "long"),
    (MILLIS, "timestamp", "long"),
    (MICROS, "timestamp", "long"),
    (NANOS, "long", "long"),
    (ZONED, "timestamptz", "string"),
    (ISO_DATE, "date", "string"),
    (ISO_TIME, "time", "string"),
    (ISO_STAMP, "timestamp", "string"),
    (UUID, "uuid", "string"),
    *((schema, kind, kind) for schema, kind in AS_THEY_ARE),
]


def table(target: IcebergType, rules: ColumnRules = ON) -> TypedTable:
    return TypedTable(GivenValues(), Schema(NestedField(1, "v", target, required=False)), rules, create=False)


def rows(source: ConnectSchema, target: IcebergType, values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the values of the column and the rejected records."""
    decoded = table(target, ColumnRules(debezium_types=True)).decode(
        [(struct({"v": source}), {"v": v}) for v in values]
    )
    assert decoded.table is not None
    assert {one.stage for one in decoded.rejected} <= {"coerce"}
    return decoded.table.column(0).to_pylist(), [one.index for one in decoded.rejected]


def number(unscaled: int, scale: int) -> dict[str, Any]:
    return {"scale": scale, "value": unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)}


@pytest.fixture(params=["columns", "one by one"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either way a value may take."""
    if request.param == "one by one":
        monkeypatch.setattr(typed_table, "field_columnar", lambda *_: None)
    return str(request.param)


@pytest.mark.parametrize(("source", "meant", "plain"), NEW, ids=lambda value: getattr(value, "name", value))
def test_new_column_of_each_type_by_the_rule(source: ConnectSchema, meant: str, plain: str) -> None:
    value = {Kind.STRING: "", Kind.BYTES: b""}.get(source.kind, 0)
    for rules, kind in ((ON, meant), (OFF, plain)):
        new = TypedTable(GivenValues(), None, rules, create=True)
        new.decode([(struct({"v": source, "l": array(source)}), {"v": value, "l": []})])
        assert [str(one.field_type) for one in new.needs.new_schema().fields] == [kind, f"list<{kind}>"]


def test_new_column_of_variable_scale_is_text() -> None:
    new = TypedTable(GivenValues(), None, ON, create=True)
    new.decode([(struct({"v": NUMBER}), {"v": number(1, 0)})])
    assert str(new.needs.new_schema().find_type("v")) == "string"
    plain = TypedTable(GivenValues(), None, OFF, create=True)
    plain.decode([(struct({"v": NUMBER}), {"v": number(1, 0)})])
    assert plain.needs.new_schema().find_type("v").is_struct


NOON = datetime(2024, 2, 29, 12, 30, 15, 123456)  # noqa: DTZ001 - of no zone
GOOD: list[tuple[ConnectSchema, IcebergType, Any, Any]] = [
    (DATE, DateType(), -719162, date.min),
    (DATE, IntegerType(), 19_000, 19_000),
    (DATE, StringType(), 19_000, "19000"),
    (DATE, TimestampType(), 1, datetime(1970, 1, 2)),  # noqa: DTZ001
    (MILLIS_TIME, TimeType(), 86_399_999, time(23, 59, 59, 999000)),
    (MILLIS_TIME, LongType(), 5, 5),
    (MICRO_TIME, TimeType(), 1, time(0, 0, 0, 1)),
    (NANO_TIME, TimeType(), 2_000, time(0, 0, 0, 2)),
    (NANO_TIME, LongType(), 2_001, 2_001),
    (MILLIS, TimestampType(), -62135596800000, datetime(1, 1, 1)),  # noqa: DTZ001
    (MILLIS, TimestamptzType(), 1, datetime(1970, 1, 1, 0, 0, 0, 1000, tzinfo=UTC)),
    (MILLIS, LongType(), 1, 1),
    (MILLIS, DateType(), 86_400_000, date(1970, 1, 2)),
    (MICROS, TimestampType(), -1, datetime(1969, 12, 31, 23, 59, 59, 999999)),  # noqa: DTZ001
    (MICROS, LongType(), 2**62, 2**62),
    (NANOS, TimestampType(), -3_000, datetime(1969, 12, 31, 23, 59, 59, 999997)),  # noqa: DTZ001
    (NANOS, LongType(), -3_001, -3_001),
    (ZONED, TimestamptzType(), "2024-02-29T13:30:15.123456+01:00", NOON.replace(tzinfo=UTC)),
    (ZONED, TimestamptzType(), "2024-02-29T12:30:15.123456000Z", NOON.replace(tzinfo=UTC)),
    (ZONED, TimestamptzType(), "1969-12-31T23:59Z", datetime(1969, 12, 31, 23, 59, tzinfo=UTC)),
    (ZONED, TimestampType(), "2024-02-29T12:30:15.123456+01:00", NOON),
    (ZONED, StringType(), "never", "never"),
    (ISO_DATE, DateType(), "2024-02-29Z", date(2024, 2, 29)),
    (ISO_DATE, StringType(), "2024-02-29Z", "2024-02-29Z"),
    (ISO_TIME, TimeType(), "12:30:15.1Z", time(12, 30, 15, 100000)),
    (ISO_STAMP, TimestampType(), "2024-02-29T12:30:15.123456Z", NOON),
    (UUID, UUIDType(), "00112233-4455-6677-8899-AABBccddeeff", uuid.UUID("00112233445566778899aabbccddeeff")),
    (UUID, StringType(), "none", "none"),
    (NUMBER, StringType(), number(-12345, 3), "-12.345"),
    (NUMBER, StringType(), number(5, -3), "5000"),
    (NUMBER, StringType(), number(1, 9), "0.000000001"),
    (NUMBER, StringType(), number(10**60 + 1, 30), "1" + "0" * 30 + "." + "0" * 29 + "1"),
    (NUMBER, DecimalType(9, 2), number(5, 1), Decimal("0.50")),
    (NUMBER, DecimalType(9, 2), number(1255, 3), Decimal("1.26")),
    (NUMBER, DoubleType(), number(15, 1), 1.5),
    (NUMBER, LongType(), number(50, 1), 5),
    (array(DATE), ListType(2, DateType(), element_required=False), [1, None], [date(1970, 1, 2), None]),
    (array(MICROS), StringType(), [1, 2], "[1,2]"),
    (map_of(DATE, MILLIS), MapType(2, DateType(), 3, TimestampType(), value_required=False), [(1, 0)], [
        (date(1970, 1, 2), datetime(1970, 1, 1))  # noqa: DTZ001
    ]),
]  # fmt: skip
BAD: list[tuple[ConnectSchema, IcebergType, Any]] = [
    (DATE, DateType(), 2**31 - 1),
    (DATE, TimeType(), 1),
    (MILLIS_TIME, TimeType(), 86_400_000),
    (MICRO_TIME, TimeType(), -1),
    (MICRO_TIME, TimestampType(), 1),
    (NANO_TIME, TimeType(), 1_001),
    (NANO_TIME, TimeType(), NANOS_OF_A_DAY),
    (MILLIS, TimestampType(), 2**63 - 1),
    (MILLIS, IntegerType(), 2**31),
    (MICROS, TimestampType(), -(2**63)),
    (MICROS, TimeType(), 5),
    (NANOS, TimestampType(), -1),
    (ZONED, TimestamptzType(), "2024-02-30T00:00:00Z"),
    (ZONED, TimestamptzType(), "2024-02-29T12:30:15.1234567Z"),
    (ZONED, TimestamptzType(), "2024-02-29T12:30:15"),
    (ZONED, TimestamptzType(), "2024-02-29"),
    (ZONED, TimestamptzType(), "infinity"),
    (ZONED, TimestamptzType(), "2024-02-29T12:30:15+19:00"),
    (ZONED, TimestamptzType(), "9999-12-31T23:59:59-01:00"),
    (ISO_DATE, DateType(), "20240229Z"),
    (ISO_TIME, TimeType(), "12:30:15.1234567Z"),
    (ISO_TIME, TimeType(), "24:00:00Z"),
    (ISO_STAMP, TimestampType(), "2024-02-29Z"),
    (UUID, UUIDType(), "00112233445566778899aabbccddeeff"),
    (UUID, UUIDType(), "00112233-4455-6677-8899-aabbccddeefg"),
    (UUID, UUIDType(), "00112233-4455-6677-8899+aabbccddeeff"),
    (NUMBER, DecimalType(4, 2), number(12345, 2)),
    (NUMBER, LongType(), number(15, 1)),
    (NUMBER, StringType(), {"scale": 1, "value": b""}),
    (NUMBER, StringType(), {"scale": 2**31 - 1, "value": b"\x01"}),
    (NUMBER, StringType(), {"scale": -(2**31), "value": b"\x01"}),
    (NUMBER, DateType(), number(1, 0)),
    (array(NANOS), ListType(2, TimestampType(), element_required=False), [1_000, 1]),
]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("source", "target", "value", "wanted"), GOOD, ids=lambda value: str(value)[:20])
def test_value_is_what_its_column_takes_either_way(
    source: ConnectSchema, target: IcebergType, value: Any, wanted: Any
) -> None:
    assert rows(source, target, [None, value, None]) == ([None, wanted, None], [])


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("source", "target", "value"), BAD, ids=lambda value: str(value)[:20])
def test_value_that_is_not_exact_rejects_its_record(source: ConnectSchema, target: IcebergType, value: Any) -> None:
    assert rows(source, target, [None, value, None]) == ([None, None], [1])


TICKS = [(schema, target) for schema, target, _, _ in GOOD if schema.kind in (Kind.INT32, Kind.INT64)]
EDGES = [n * unit + more for unit in (1, 10**3, 10**6, 10**9) for n in (-1, 0, 86_400) for more in (-1, 0, 1)]


@given(st.sampled_from(TICKS), st.lists(st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1), max_size=6))
def test_ticks_are_those_of_the_exact_way(pair: tuple[ConnectSchema, IcebergType], ticks: list[int]) -> None:
    source, target = pair
    if source.kind is Kind.INT32:
        ticks = [max(-(2**31), min(2**31 - 1, tick)) for tick in ticks]
    found = rows(source, target, ticks)
    with mock.patch.object(typed_table, "field_columnar", lambda *_: None):
        assert rows(source, target, ticks) == found


_STAMPS = st.datetimes().map(lambda moment: moment.isoformat())
_ZONES = st.sampled_from(["", "Z", "+01:00", "-17:59", "+18:00", "+18:01", "+1:00", "+0100", "z", "[UTC]"])
_ODD = st.sampled_from(
    ["2024-02-30T00:00:00", "2024-02-29 12:00:00", "2024-02-29T12:00", "0000-01-01T00:00:00", "12:00:00"]
)


@given(
    st.sampled_from(
        [(ZONED, TimestamptzType()), (ISO_STAMP, TimestampType()), (ISO_DATE, DateType()), (ISO_TIME, TimeType())]
    ),
    st.lists(st.builds(str.__add__, _STAMPS | _ODD, _ZONES) | st.times().map(str) | st.dates().map(str), max_size=6),
)
def test_texts_are_those_of_the_exact_way(pair: tuple[ConnectSchema, IcebergType], texts: list[str]) -> None:
    found = rows(*pair, texts)
    with mock.patch.object(typed_table, "field_columnar", lambda *_: None):
        assert rows(*pair, texts) == found


@pytest.mark.parametrize(("source", "target", "value"), [
    (DATE, DateType(), 1), (MILLIS_TIME, TimeType(), 1), (NANO_TIME, TimeType(), 1_000), (MILLIS, TimestampType(), 1),
    (MICROS, TimestamptzType(), 1), (ZONED, TimestamptzType(), "2024-02-29T12:30:15.123456+01:00"),
    (ISO_DATE, DateType(), "2024-02-29Z"), (ISO_TIME, TimeType(), "12:30:15.1Z"),
    (ISO_STAMP, TimestampType(), "2024-02-29T12:30:15Z"),
    (UUID, UUIDType(), "00112233-4455-6677-8899-aabbccddeeff"), (MICROS, LongType(), 1), (ZONED, StringType(), "x"),
])  # fmt: skip
def test_usual_value_makes_no_object(source: ConnectSchema, target: IcebergType, value: Any) -> None:
    assert table(target).decode([(struct({"v": source}), {"v": value})] * 9).fast_rows == 9


def test_struct_column_takes_a_variable_scale_as_it_is() -> None:
    kind = Schema(NestedField(2, "scale", IntegerType()), NestedField(3, "value", StringType())).as_struct()
    inner = struct({"scale": ConnectSchema(Kind.INT32), "value": ConnectSchema(Kind.STRING)}, name=NUMBER.name)
    assert rows(inner, kind, [{"scale": 1, "value": "x"}]) == ([{"scale": 1, "value": "x"}], [])


INSIDE = [
    (
        struct({"u": replace(UUID, optional=False)}, optional=True),
        Schema(NestedField(2, "u", UUIDType(), required=True)).as_struct(),
        lambda value: {"u": value},
        lambda value: {"u": value},
    ),
    (
        array(UUID, optional=True),
        ListType(2, UUIDType(), element_required=False),
        lambda value: [value],
        lambda value: [value],
    ),
    (
        map_of(ConnectSchema(Kind.STRING), UUID, optional=True),
        MapType(2, StringType(), 3, UUIDType(), value_required=False),
        lambda value: {"k": value},
        lambda value: [("k", value)],
    ),
]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(("source", "target", "around", "read"), INSIDE)
def test_uuid_inside_of_a_column_may_be_wrong_or_absent(
    source: ConnectSchema, target: IcebergType, around: Callable[[str], Any], read: Callable[[uuid.UUID], Any]
) -> None:
    one = uuid.uuid4()
    values = [None, around(str(one)), around("none"), None]
    assert rows(source, target, values) == ([None, read(one), None], [2])
    assert rows(source, target, [None]) == ([None], [])


def test_text_that_cannot_be_read_leaves_its_neighbours_fast() -> None:
    values = ["2024-02-29T12:30:15Z"] * 50
    values[7] = "soon"
    decoded = table(TimestamptzType()).decode([(struct({"v": ZONED}), {"v": value}) for value in values])
    assert ([one.index for one in decoded.rejected], decoded.fast_rows) == ([7], 49)
    assert decoded.rejected[0].reason == "column 'v': cannot convert string 'soon' to timestamptz"


def test_option_off_leaves_values_as_they_are() -> None:
    decoded = table(LongType(), OFF).decode([(struct({"v": MICROS}), {"v": 5})])
    assert decoded.table is not None
    assert decoded.table.to_pylist() == [{"v": 5}]
    assert debezium.meant(struct({"v": MICROS})) != struct({"v": MICROS})


@pytest.mark.parametrize("name", [debezium.DATE, debezium.ZONED_TIMESTAMP, debezium.DECIMAL])
def test_own_name_of_another_type_means_nothing(name: str) -> None:
    own = struct({"scale": ConnectSchema(Kind.STRING)}, name=name)
    for schema, value in ((own, {"scale": "x"}), (of(Kind.BOOLEAN, name), True)):
        new = TypedTable(GivenValues(), None, ON, create=True)
        new.decode([(struct({"v": schema}), {"v": value})])
        made = TypedTable(GivenValues(), new.needs.new_schema(), ON, create=False)
        decoded = made.decode([(struct({"v": schema}), {"v": value})])
        assert decoded.table is not None
        assert decoded.table.to_pylist() == [{"v": value}]


@given(st.lists(st.one_of(st.none(), st.uuids().map(str), st.text(max_size=40))), st.integers(0, 3))
def test_uuids_are_those_of_the_exact_way(texts: list[str | None], start: int) -> None:
    column = pa.array(["x"] * start + texts, pa.large_string())[start:]
    found, bad = uuids(column, pa.binary(16))
    rejected = np.zeros(len(texts), np.bool_) if bad is None else bad
    wanted = [
        None if text is None or bad_one else uuid.UUID(text).bytes
        for text, bad_one in zip(texts, rejected, strict=True)
    ]
    assert found.to_pylist() == wanted
    assert [i for i, text in enumerate(texts) if text is not None and not _is_uuid(text)] == np.flatnonzero(
        rejected
    ).tolist()


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False
