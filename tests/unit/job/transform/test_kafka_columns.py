"""Kafka's transforms on columns, and on the same values one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.convert.base import Parsed
from floe_job.convert.typed.base import TypedPart
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues, arrow_column, batch_of
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.chain import Chain
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records

TIMES = {
    "date": ConnectSchema(Kind.INT32, True, logical.DATE, 1),
    "time": ConnectSchema(Kind.INT32, True, logical.TIME, 1),
    "timestamp": ConnectSchema(Kind.INT64, True, logical.TIMESTAMP, 1),
}
SCHEMA = struct(
    {
        **{kind.value: ConnectSchema(kind, True) for kind in Kind if kind.value not in ("array", "map", "struct")},
        **TIMES,
        "default": ConnectSchema(Kind.INT32, True, default=7),
        "list": array(ConnectSchema(Kind.INT64), optional=True),
        "map": map_of(ConnectSchema(Kind.STRING), ConnectSchema(Kind.INT64), optional=True),
        "inner": struct({"a": ConnectSchema(Kind.INT64, True), "b": struct({"c": ConnectSchema(Kind.STRING, True)})}),
    },
    name="some.Name",
)
COUNT = 200
CASES: dict[str, dict[str, str]] = {
    "InsertField": {"topic_field": "t", "partition_field": "p!", "offset_field": "o", "timestamp_field": "x"},
    "InsertField ": {"static_field": "s", "static_value": "v"},
    "Cast": {"spec": "int8:int64,int32:float32,int64:float64,float:float64,boolean:int8"},
    "Cast ": {"spec": "int16:boolean,double:boolean,float:float64,int32:string,boolean:string,int64:float32"},
    "Cast  ": {"spec": "double:int32,float:int64,double:float32,int64:int8,string:string"},
    "TimestampConverter": {"target_type": "Timestamp", "field": "int64"},
    "TimestampConverter ": {"target_type": "Date", "field": "int64", "unix_precision": "seconds"},
    "TimestampConverter  ": {"target_type": "Time", "field": "timestamp"},
    "TimestampConverter   ": {"target_type": "unix", "field": "timestamp", "unix_precision": "microseconds"},
    "TimestampConverter    ": {"target_type": "unix", "field": "date", "unix_precision": "nanoseconds"},
    "TimestampConverter     ": {"target_type": "Timestamp", "field": "int64", "unix_precision": "nanoseconds"},
    "TimestampConverter      ": {"target_type": "unix", "field": "time", "unix_precision": "seconds"},
    "MaskField": {"fields": "int8,int32,float,double,string,boolean"},
    "MaskField ": {"fields": "int64,string,double", "replacement": "12"},
    "ExtractField": {"field": "inner"},
    "ExtractField ": {"field": "inner.b", "field_syntax_version": "V2"},
    "HoistField": {"field": "v"},
    "SetSchemaMetadata": {"schema_name": "n", "schema_version": "3"},
    "ReplaceField": {"exclude": "inner,map", "renames": "int8:x"},
}


def value_of(random: Random, name: str, *, has_nulls: bool) -> Any:
    if has_nulls and name != "inner" and random.random() < 0.2:
        return None
    bits = {"int8": 8, "int16": 16, "int32": 32, "int64": 42, "date": 16, "default": 32}
    if name in bits:
        return random.randrange(-(1 << (bits[name] - 1)), 1 << (bits[name] - 1)) >> random.randrange(20)
    return {
        "boolean": random.random() < 0.5,
        "float": float(np.float32(random.uniform(-1000, 1000))),
        "double": random.choice((0.0, -0.5, 1e9, random.uniform(-1e9, 1e9))),
        "string": random.choice(("", "text", "12")),
        "bytes": b"x",
        "time": random.randrange(86_400_000) * 1000,
        "timestamp": random.randrange(-(10**13), 10**13) * 1000,
        "list": [1, 2],
        "map": [("k", 1)],
        "inner": {"a": random.randrange(9), "b": {"c": "x"}},
    }[name]


def column_of(seed: str, *, has_nulls: bool) -> pa.Array:
    random = Random(seed)
    children = [
        pa.array([value_of(random, name, has_nulls=has_nulls) for _ in range(COUNT)], arrow_type(inner))
        for name, inner in SCHEMA.fields
    ]
    return pa.StructArray.from_arrays(children, fields=list(arrow_type(SCHEMA)))


def both_ways(kind: str, keys: dict[str, str], column: pa.Array) -> tuple[ParsedBatch, ParsedBatch]:
    source = records(PIECE, [b"x"] * COUNT)
    chain = Chain([transform(f"{kind}$Value", **keys)])
    columns = TypedColumns(COUNT, [TypedPart(SCHEMA, np.arange(COUNT), column)])
    given = (columns, columns.objects())
    done = [chain.apply(ParsedBatch.of(source, Parsed(values, ()))) for values in given]
    assert isinstance(done[1].values, TypedValues)
    return done[0], done[1]


@pytest.mark.parametrize("name", CASES)
def test_columns_are_what_values_become(name: str) -> None:
    for seed, has_nulls in (("a", False), ("b", True), ("c", True)):
        fast, exact = both_ways(name.strip(), CASES[name], column_of(f"{name} {seed}", has_nulls=has_nulls))
        assert fast.rejected == exact.rejected
        parts, others = batch_of(fast.values).parts, batch_of(exact.values).parts
        assert [part.schema for part in parts] == [part.schema for part in others]
        for part, other in zip(parts, others, strict=True):
            assert part.column.type == arrow_type(part.schema) == other.column.type
            assert part.places.tolist() == other.places.tolist()
            assert part.column.equals(other.column)


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("  ")])
def test_columns_stay_columns(name: str) -> None:
    fast, _ = both_ways(name.strip(), CASES[name], column_of(name, has_nulls=False))
    assert isinstance(fast.values, TypedColumns)


def test_flatten_of_columns_is_what_values_become() -> None:
    inner = struct(
        {"a": ConnectSchema(Kind.INT64, True), "d": ConnectSchema(Kind.INT64, True, default=3)}, optional=True
    )
    schema = struct({"x": inner, "y": ConnectSchema(Kind.STRING, True), "z": array(inner)})
    rows: list[Any] = [
        {"x": {"a": 1, "d": 2}, "y": "s", "z": []},
        {"x": None, "y": None, "z": [{"a": 1, "d": None}]},
        {"x": {"a": None, "d": None}, "y": "", "z": []},
    ]
    for given in (rows[:1], rows[:2], rows):
        source = records(PIECE, [b"x"] * len(given))
        columns = TypedColumns(len(given), [TypedPart(schema, np.arange(len(given)), arrow_column(given, schema))])
        chain = Chain([transform("Flatten$Value", delimiter="_")])
        done = [chain.apply(ParsedBatch.of(source, Parsed(values, ()))) for values in (columns, columns.objects())]
        assert isinstance(done[0].values, TypedColumns)
        parts = [batch_of(one.values).parts for one in done]
        assert parts[0][0].schema == parts[1][0].schema
        assert parts[0][0].column.equals(parts[1][0].column)
        assert [name for name, _ in parts[0][0].schema.fields] == ["x_a", "x_d", "y", "z"]


FILLING = {
    "InsertField": {"partition_field": "p"},
    "Cast": {"spec": "int8:int64"},
    "TimestampConverter": {"target_type": "Timestamp", "field": "int64"},
    "MaskField": {"fields": "int8"},
    "SetSchemaMetadata": {"schema_name": "n"},
    "ReplaceField": {"exclude": "int8"},
}
"""Transforms that have ``replace.null.with.default``."""

KEEPING = {
    "Flatten$Value": {},
    "CopyValue": {"source_field": "default", "target_field": "copied"},
    "KafkaMetadataTransform": {},
    "HoistField$Value": {"field": "v"},
}
"""Transforms that have not, and of which Kafka Connect's fill defaults in all the same."""


def with_nulls() -> TypedColumns:
    schema = struct({name: one for name, one in SCHEMA.fields if name not in ("map", "list")})
    value = {"inner": {"a": None, "b": {"c": None}}, "int64": 5, "int8": 1}
    column = pa.array([value, {**value, "default": 3}], arrow_type(schema))
    return TypedColumns(2, [TypedPart(schema, np.arange(2), column)])


def defaults_left(steps: list[Any], *, as_objects: bool) -> list[Any]:
    values = with_nulls()
    given = ParsedBatch.of(records(PIECE, [b"x"] * 2), Parsed(values.objects() if as_objects else values, ()))
    done = Chain(steps).apply(given)
    assert not done.rejected
    return [(row.get("v") or row)["default"] for row in done.values]


@pytest.mark.parametrize("as_objects", [False, True])
def test_null_stays_null_after_every_transform(as_objects: bool) -> None:
    steps = [transform(f"{name}$Value", **keys) for name, keys in FILLING.items()]
    steps += [transform(name, **keys) for name, keys in KEEPING.items()]
    for step in steps:
        assert defaults_left([step], as_objects=as_objects) == [None, 3], step
    order = [step for step in steps if step.alias not in ("ReplaceField$Value", "Cast$Value", "MaskField$Value")]
    assert defaults_left(order, as_objects=as_objects) == [None, 3]


@pytest.mark.parametrize("as_objects", [False, True])
@pytest.mark.parametrize("name", FILLING)
def test_null_becomes_a_default_where_a_transform_is_told_so(name: str, as_objects: bool) -> None:
    told = transform(f"{name}$Value", replace_null_with_default="true", **FILLING[name])
    not_told = transform(f"{name}$Value", replace_null_with_default="false", **FILLING[name])
    assert defaults_left([told], as_objects=as_objects) == [7, 3]
    assert defaults_left(
        [not_told, transform("SetSchemaMetadata$Value", schema_version="2")], as_objects=as_objects
    ) == [None, 3]


UNITS = {
    logical.AVRO_TIMESTAMP_MICROS: "microseconds",
    logical.AVRO_LOCAL_TIMESTAMP_MICROS: "microseconds",
    logical.AVRO_LOCAL_TIMESTAMP_MILLIS: "milliseconds",
    logical.AVRO_TIME_MICROS: "microseconds",
    "io.debezium.time.MicroTimestamp": "microseconds",
    "io.debezium.time.NanoTimestamp": "nanoseconds",
    "io.debezium.time.Timestamp": "milliseconds",
    "io.debezium.time.MicroTime": "microseconds",
}


@pytest.mark.parametrize("field", ["at", ""])
@pytest.mark.parametrize("name", UNITS)
def test_time_of_another_precision_is_refused_and_not_misread(name: str, field: str) -> None:
    """Java takes the microseconds of Avro and Debezium for milliseconds: 2023 becomes the year 55840."""
    kind = ConnectSchema(Kind.INT64, name=name)
    schema = struct({"at": kind}) if field else kind
    is_avro = name.startswith("avro.time")
    number = 3_600_000_000 if is_avro or not field else 1_700_000_000_000_000
    given = pa.array([number], pa.int64()).cast(arrow_type(kind))
    column = pa.StructArray.from_arrays([given], fields=list(arrow_type(schema))) if field else given
    values = TypedColumns(1, [TypedPart(schema, np.arange(1), column)])
    for precision in ("seconds", "milliseconds", "microseconds", "nanoseconds"):
        keys = {"target_type": "string", "format": "yyyy-MM-dd HH:mm:ss", "unix_precision": precision}
        step = transform("TimestampConverter$Value", **keys, **({"field": field} if field else {}))
        done = Chain([step]).apply(ParsedBatch.of(records(PIECE, [b"x"]), Parsed(values, ())))
        assert bool(done.rejected) is (precision != UNITS[name]), precision
        for one in done.rejected:
            assert f"set it to {UNITS[name]}" in one.reason
