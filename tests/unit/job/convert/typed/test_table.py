"""Values with schemas into rows: new columns, wider ones, and the same row whichever way a value takes."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import (
    BinaryType,
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
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.convert.typed import table as typed_table
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.table import TypedConverters, TypedTable
from floe_job.exceptions import SchemaConflict
from floe_job.schema.proposal import ColumnRules
from tests.support.job.formats import avro_orders

EVOLVE = ColumnRules(evolve=True)
INT, LONG = ConnectSchema(Kind.INT32), ConnectSchema(Kind.INT64)
FLOAT, DOUBLE = ConnectSchema(Kind.FLOAT32), ConnectSchema(Kind.FLOAT64)
TEXT, MAYBE = ConnectSchema(Kind.STRING), ConnectSchema(Kind.STRING, optional=True)
BYTES, BOOL = ConnectSchema(Kind.BYTES), ConnectSchema(Kind.BOOLEAN)


def of(kind: Kind, name: str, **parameters: str) -> ConnectSchema:
    return ConnectSchema(kind, optional=True, name=name, parameters=tuple(parameters.items()))


MONEY = of(Kind.BYTES, logical.DECIMAL, scale="2")
DATE, TIME = of(Kind.INT32, logical.DATE), of(Kind.INT32, logical.TIME)
STAMP, MICROS = of(Kind.INT64, logical.TIMESTAMP), of(Kind.INT64, logical.AVRO_TIMESTAMP_MICROS)
LOCAL = of(Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MILLIS)


class Given:
    """A decoder whose values are decoded already: each of them is a schema and a Python value."""

    def decode(self, values: Sequence[Any]) -> TypedBatch:
        parts = []
        for schema in dict.fromkeys(schema for schema, _ in values):
            places = [i for i, (other, _) in enumerate(values) if other == schema]
            column = pa.array([values[i][1] for i in places], arrow_type(schema))
            parts.append(TypedPart(schema, np.array(places, np.int64), column))
        return TypedBatch(tuple(parts), (), len(values))


def field(name: str, kind: IcebergType, *, required: bool = False, field_id: int = 1) -> NestedField:
    return NestedField(field_id, name, kind, required=required)


def table(*fields: NestedField, rules: ColumnRules = EVOLVE) -> TypedTable:
    return TypedTable(Given(), Schema(*fields), rules, create=False)


def needs(schema: ConnectSchema, value: Any, *fields: NestedField) -> tuple[dict[Any, Any], dict[Any, Any], list[Any]]:
    found = table(*fields)
    assert found.decode([(schema, value)]).table is None
    return found.needs.columns, found.needs.promotions, list(found.needs.optional)


def test_new_table_has_typed_columns_as_the_schema_requires() -> None:
    new = TypedTable(avro_orders.decoder(), None, ColumnRules(), create=True)
    assert new.decode([avro_orders.order(5)]).table is None
    wanted = ["id: required long", "note: optional string", "state: required string", "paid: required boolean"]
    wanted += ["price: required decimal(38, 2)", "tags: required list<string>", "counts: required map<string, int>"]
    assert [str(one).partition(": ")[2] for one in new.needs.new_schema().fields] == [*wanted, "ratio: required double"]


def test_avro_records_become_rows_of_the_table_made_for_them() -> None:
    new = TypedTable(avro_orders.decoder(), None, ColumnRules(), create=True)
    values = [avro_orders.order(i) for i in range(50)]
    new.decode(values)
    made = TypedTable(avro_orders.decoder(), new.needs.new_schema(), EVOLVE, create=False)
    bad = [*values[:20], b"\x00", *values[20:]]
    decoded = made.decode(bad)
    assert not made.needs
    assert decoded.table is not None
    assert decoded.table.to_pylist() == [avro_orders.read(i) for i in range(50)]
    assert ([one.index for one in decoded.rejected], decoded.fast) == ([20], False)


def test_records_of_several_schemas_keep_their_order() -> None:
    first, other = struct({"id": LONG}), struct({"id": INT, "note": MAYBE})
    values = [(first, {"id": 0}), (other, {"id": 1, "note": "a"}), (first, {"id": 2}), (other, {"id": 3, "note": None})]
    decoded = table(field("id", LongType()), field("note", StringType(), field_id=2)).decode(values)
    assert decoded.table is not None
    assert [tuple(row.values()) for row in decoded.table.to_pylist()] == [(0, None), (1, "a"), (2, None), (3, None)]


def test_column_that_one_schema_lacks_is_optional() -> None:
    new = TypedTable(Given(), None, ColumnRules(), create=True)
    new.decode([(struct({"id": LONG, "a": TEXT}), {"id": 1, "a": "x"}), (struct({"id": LONG}), {"id": 2})])
    assert [(one.name, one.required) for one in new.needs.new_schema().fields] == [("id", True), ("a", False)]


def test_new_table_with_forced_optional_requires_nothing() -> None:
    new = TypedTable(Given(), None, ColumnRules(force_optional=True), create=True)
    new.decode([(struct({"a": struct({"b": LONG}), "c": array(LONG)}), {"a": {"b": 1}, "c": [1]})])
    assert str(new.needs.new_schema().as_struct()).count("required") == 0


def test_evolution_widens_by_schema_and_never_narrows() -> None:
    assert needs(struct({"n": LONG}), {"n": 1}, field("n", IntegerType()))[1] == {("n",): "long"}
    assert needs(struct({"n": DOUBLE}), {"n": 1.0}, field("n", FloatType()))[1] == {("n",): "double"}
    wide = table(field("n", LongType()), field("d", DoubleType(), field_id=2))
    wide.decode([(struct({"n": INT, "d": FLOAT}), {"n": 1, "d": 1.0})])
    assert not wide.needs


def test_evolution_makes_required_columns_optional() -> None:
    required = field("a", StringType(), required=True)
    assert needs(struct({"a": MAYBE}), {"a": "x"}, required)[2] == [("a",)]
    assert needs(struct({"b": TEXT}), {"b": "x"}, required)[2] == [("a",)]


def test_evolution_adds_fields_inside_lists_maps_and_structs() -> None:
    inner = struct({"x": LONG, "y": TEXT})
    known = StructType(NestedField(10, "x", LongType(), required=False))
    fields = (
        field("s", known),
        field(
            "l",
            ListType(20, StructType(NestedField(21, "x", LongType(), required=False)), element_required=False),
            field_id=2,
        ),
        field(
            "m",
            MapType(30, StringType(), 31, StructType(NestedField(32, "x", LongType())), value_required=False),
            field_id=3,
        ),
    )
    value = {"x": 1, "y": "z"}
    schema = struct({"s": inner, "l": array(inner), "m": map_of(TEXT, inner)})
    found, _, _ = needs(schema, {"s": value, "l": [value], "m": [("k", value)]}, *fields)
    assert list(found) == [("s", "y"), ("l", "element", "y"), ("m", "value", "y")]


def test_two_types_of_a_new_column_are_in_conflict() -> None:
    values = [(struct({"a": LONG}), {"a": 1}), (struct({"a": TEXT}), {"a": "x"})]
    new = TypedTable(Given(), None, ColumnRules(on_conflict="fail"), create=True)
    with pytest.raises(SchemaConflict, match="'a' comes as long and as string"):
        new.decode(values)


def test_value_that_is_no_struct_is_rejected() -> None:
    decoded = table(field("id", LongType())).decode([(LONG, 5), (struct({"id": LONG}), {"id": 1})])
    assert [(one.index, one.stage) for one in decoded.rejected] == [(0, "coerce")]
    assert decoded.table is not None
    assert decoded.table.num_rows == 1


def test_whole_value_that_is_null_is_rejected_either_way() -> None:
    schema = replace(struct({"id": LONG}), optional=True)
    values = [(schema, {"id": 1}), (schema, None), (schema, {"id": 3})]
    decoded = table(field("id", LongType())).decode(values)
    whole = TypedConverters(Given).whole([*values, None])
    assert decoded.rejected == whole.rejected
    assert [(one.index, one.stage) for one in whole.rejected] == [(1, "coerce")]
    assert whole.values == [{"id": 1}, None, {"id": 3}, None]


def test_schema_with_too_many_columns_rejects_its_records_only() -> None:
    wide = struct({f"f{i}": MAYBE for i in range(1100)})
    one = table(field("id", LongType()))
    decoded = one.decode([(struct({"id": LONG}), {"id": 1}), (wide, {"f0": "x"})])
    assert [(found.index, found.error) for found in decoded.rejected] == [(1, "TooManyColumns")]
    assert not one.needs


@pytest.mark.parametrize(
    "schema",
    [
        struct({"ID": LONG, "id": LONG}),
        struct({"s": struct({"Name": TEXT, "name": TEXT})}),
        struct({"l": array(struct({"Name": TEXT, "name": TEXT}))}),
        struct({"Id": LONG}),
    ],
)
def test_schema_with_names_that_differ_by_case_only_is_rejected(schema: ConnectSchema) -> None:
    value = {name: None for name, _ in schema.fields}
    one = table(field("id", LongType()))
    (rejected,) = one.decode([(schema, value), (struct({"id": LONG}), {"id": 1})]).rejected
    assert (rejected.index, rejected.stage, rejected.error) == (0, "schema", "Unnameable")
    assert "differs by case only from" in rejected.reason and not one.needs


def test_schemas_of_two_spellings_make_one_column_of_a_new_table() -> None:
    new = TypedTable(Given(), None, ColumnRules(), create=True)
    new.decode([(struct({"ID": MAYBE}), {"ID": "a"}), (struct({"id": MAYBE}), {"id": "b"})])
    assert [one.name for one in new.needs.new_schema().fields] == ["ID"]


def test_rejected_record_widens_no_column() -> None:
    schema = struct({"a": MONEY, "b": TEXT})
    fields = field("a", DecimalType(9, 2)), field("b", LongType(), field_id=2)
    for columns in (fields, tuple(reversed(fields))):
        one = table(*columns)
        good, bad = {"a": Decimal("1.00"), "b": "1"}, {"a": Decimal("12345678.90"), "b": "many"}
        decoded = one.decode([(schema, good), (schema, bad)])
        assert [found.index for found in decoded.rejected] == [1]
        assert not one.needs
        one.decode([(schema, {**bad, "b": "2"})])
        assert one.needs.promotions == {("a",): "decimal(10, 2)"}


PLAIN = ColumnRules()
F01 = 0.10000000149011612
"""The float of 32 bits that is nearest to 0.1."""
GOOD: list[tuple[ConnectSchema, IcebergType, list[Any], list[Any]]] = [
    (LONG, IntegerType(), [1, 2**31 - 1, -(2**31)], [1, 2**31 - 1, -(2**31)]),
    (INT, LongType(), [1], [1]),
    (INT, DecimalType(9, 2), [1], [Decimal("1.00")]),
    (LONG, DoubleType(), [3], [3.0]),
    (LONG, StringType(), [12], ["12"]),
    (DOUBLE, FloatType(), [0.5, float("inf")], [0.5, float("inf")]),
    (DOUBLE, DoubleType(), [float("inf")], [float("inf")]),
    (TEXT, LongType(), ["12"], [12]),
    (TEXT, StringType(), ["é"], ["é"]),
    (BOOL, StringType(), [True], ["true"]),
    (BYTES, BinaryType(), [b"ab"], [b"ab"]),
    (BYTES, FixedType(2), [b"ab"], [b"ab"]),
    (MONEY, DecimalType(9, 2), [Decimal("1234567.89")], [Decimal("1234567.89")]),
    (MONEY, DecimalType(9, 1), [Decimal("1.25")], [Decimal("1.3")]),
    (MONEY, StringType(), [Decimal("1.20")], ["1.20"]),
    (MONEY, LongType(), [Decimal("5.00")], [5]),
    (array(LONG), ListType(2, IntegerType(), element_required=False), [[1, 2], []], [[1, 2], []]),
    (array(LONG), StringType(), [[1, 2]], ["[1,2]"]),
    (DOUBLE, StringType(), [float("nan"), float("-inf"), 1e10], ["NaN", "-Infinity", "1.0E10"]),
    (array(DOUBLE), StringType(), [[float("nan"), float("inf")]], ['["NaN","Infinity"]']),
    (FLOAT, StringType(), [F01, 16777216.0, 1e-45, float("nan")], ["0.1", "1.6777216E7", "1.4E-45", "NaN"]),
    (FLOAT, DoubleType(), [F01], [F01]),
    (array(FLOAT), StringType(), [[F01, float("inf")]], ['[0.1,"Infinity"]']),
    (map_of(FLOAT, FLOAT), StringType(), [[(F01, F01)]], ['{"0.1":0.1}']),
    (map_of(FLOAT, LONG), MapType(2, StringType(), 3, LongType()), [[(F01, 2)]], [[("0.1", 2)]]),
    (MONEY, DateType(), [Decimal("5.00"), Decimal("-1.00")], [5, -1]),
    (MONEY, TimeType(), [Decimal("5.00")], [5_000]),
    (MONEY, TimestamptzType(), [Decimal("1.25"), Decimal(1_700_000_000_000)], [1_250, 1_700_000_000_000_000]),
    (map_of(INT, LONG), StringType(), [[(5, 2)]], ['{"5":2}']),
    (map_of(BYTES, LONG), StringType(), [[(b"ab", 2)]], ['{"YWI=":2}']),
    (map_of(DOUBLE, LONG), StringType(), [[(float("nan"), 2)]], ['{"NaN":2}']),
    (map_of(struct({"a": LONG}), LONG), StringType(), [[({"a": 1}, 2)]], ['{"{\\"a\\":1}":2}']),
    (map_of(array(LONG), LONG), MapType(2, StringType(), 3, LongType()), [[([1], 2)]], [[("[1]", 2)]]),
    (
        map_of(struct({"a": LONG}), LONG),
        MapType(2, StructType(NestedField(4, "a", LongType(), required=False)), 3, LongType()),
        [[({"a": 1}, 2), ({"a": 2}, 3)]],
        [[({"a": 1}, 2), ({"a": 2}, 3)]],
    ),
    (struct({"b": BYTES}), StringType(), [{"b": b"ab"}], ['{"b":"' + base64.b64encode(b"ab").decode() + '"}']),
]
NUMBERS: list[tuple[ConnectSchema, IcebergType, int, Any]] = [
    (DATE, DateType(), 19_000, 19_000),
    (DATE, TimestamptzType(), 1, 86_400_000_000),
    (TIME, TimeType(), 5_000, 5_000),
    (STAMP, TimestamptzType(), 1_700_000_000_000_000, 1_700_000_000_000_000),
    (STAMP, TimestampType(), 1_700_000_000_000_000, 1_700_000_000_000_000),
    (STAMP, DateType(), 86_400_000_000, 1),
    (LONG, TimestamptzType(), 1_700_000_000_000, 1_700_000_000_000_000),
    (MICROS, LongType(), 1_700_000_000_000_001, 1_700_000_000_000_001),
    (LOCAL, LongType(), 1_700_000_000_123_000, 1_700_000_000_123),
    (LOCAL, StringType(), 1_700_000_000_123_000, "1700000000123"),
    (MICROS, StringType(), 1_700_000_000_000_001, "1700000000000001"),
    (MICROS, DecimalType(20, 0), 1_700_000_000_000_001, Decimal(1_700_000_000_000_001)),
    (MICROS, DoubleType(), 1_700_000_000_000_001, 1_700_000_000_000_001.0),
    (MICROS, IntegerType(), 12, 12),
]
BAD: list[tuple[ConnectSchema, IcebergType, Any]] = [
    (LONG, IntegerType(), 2**31),
    (DOUBLE, FloatType(), 1e39),
    (DOUBLE, LongType(), 1.5),
    (TEXT, LongType(), "many"),
    (BYTES, StringType(), b"a"),
    (BYTES, FixedType(2), b"abc"),
    (BYTES, UUIDType(), b"x" * 16),
    (MONEY, DecimalType(9, 2), Decimal("12345678.90")),
    (MONEY, LongType(), Decimal("5.50")),
    (MONEY, DateType(), Decimal("5.50")),
    (MONEY, TimeType(), Decimal(86_400_000)),
    (MONEY, TimestamptzType(), Decimal(10**18)),
    (MICROS, IntegerType(), 2**31),
    (DATE, StringType(), 1),
    (DATE, DateType(), 2**31 - 1),
    (STAMP, LongType(), 1),
    (STAMP, DateType(), 1),
    (STAMP, TimestamptzType(), 2**62),
    (TIME, TimeType(), 86_400_000_000),
    (array(LONG), ListType(2, IntegerType(), element_required=False), [1, 2**40]),
    (map_of(TEXT, LONG), MapType(2, StringType(), 3, IntegerType(), value_required=False), [("k", 2**40)]),
    (map_of(INT, LONG), MapType(2, IntegerType(), 3, IntegerType(), value_required=False), [(5, 2**40)]),
    (map_of(LONG, LONG), MapType(2, IntegerType(), 3, LongType(), value_required=False), [(2**40, 1)]),
    (map_of(BYTES, LONG), MapType(2, StringType(), 3, LongType(), value_required=False), [(b"x", 1)]),
    (array(ConnectSchema(Kind.INT64, optional=True)), ListType(2, LongType(), element_required=True), [None]),
]


def rows(source: ConnectSchema, target: IcebergType, values: Sequence[Any]) -> tuple[list[Any], list[int]]:
    """Return the values of a column and the rejected records: of one-field records, good ones around them, and nulls."""
    schema = struct({"v": source})
    given = [(schema, {"v": value}) for value in values]
    decoded = table(field("v", target), rules=PLAIN).decode(given)
    assert decoded.table is not None
    column = decoded.table.column(0)
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    return column.to_pylist(), [one.index for one in decoded.rejected]


@pytest.fixture(params=["columns", "one by one"])
def _way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either way a value may take."""
    if request.param == "one by one":
        monkeypatch.setattr(typed_table, "field_columnar", lambda *_: None)


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("source", "target", "values", "wanted"), GOOD, ids=lambda value: str(value)[:20])
def test_value_fits_its_column_either_way(
    source: ConnectSchema, target: IcebergType, values: list[Any], wanted: list[Any]
) -> None:
    assert rows(source, target, [None, *values, None]) == ([None, *wanted, None], [])


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("source", "target", "number", "wanted"), NUMBERS, ids=lambda value: str(value)[:20])
def test_time_fits_its_column_either_way(source: ConnectSchema, target: IcebergType, number: int, wanted: Any) -> None:
    kind = arrow_type(source)
    value = pa.array([number], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)[0]
    assert rows(source, target, [None, value]) == ([None, wanted], [])


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(("source", "target", "value"), BAD, ids=lambda value: str(value)[:20])
def test_value_that_does_not_fit_rejects_its_record(source: ConnectSchema, target: IcebergType, value: Any) -> None:
    kind = arrow_type(source)
    if pa.types.is_temporal(kind):
        value = pa.array([value], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)[0]
    assert rows(source, target, [None, value, None]) == ([None, None], [1])
