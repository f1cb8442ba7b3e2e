"""A value of each type of Connect, in Avro, and a column of each type of Iceberg."""

from __future__ import annotations

import json
import math
from random import Random
from typing import Any, Final, NamedTuple

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
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from tests.support.avro import LOGICAL, Branch, Values

COLUMNS: Final[dict[str, IcebergType]] = {
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "decimal(9, 1)": DecimalType(9, 1),
    "decimal(38, 10)": DecimalType(38, 10),
    "string": StringType(),
    "uuid": UUIDType(),
    "binary": BinaryType(),
    "fixed[2]": FixedType(2),
    "date": DateType(),
    "time": TimeType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestamptzType(),
    "list<long>": ListType(10, LongType(), element_required=False),
    "list<string>": ListType(10, StringType(), element_required=False),
    "map<string, long>": MapType(10, StringType(), 11, LongType(), value_required=False),
    "map<int, string>": MapType(10, IntegerType(), 11, StringType(), value_required=False),
    "struct<a: long>": StructType(NestedField(12, "a", LongType(), required=False)),
    "struct<a: string, z: int>": StructType(
        NestedField(12, "a", StringType(), required=False), NestedField(13, "z", IntegerType(), required=False)
    ),
}

_MAX_FLOAT = 3.4028234663852886e38
_REALS = (0.0, -0.0, 0.5, -1.0, 2.0, 16777216.0, 1e10, 3e9, 2.0**63, -(2.0**63), math.inf, -math.inf, math.nan)
_WHOLE = (0, 1, -1, 12, 86_399_999, 86_400_000, 2**31 - 1, -(2**31))
_LONGS = (*_WHOLE, 2**31, 2**40, 1_700_000_000_123, 2**53 + 1, 2**63 - 1, -(2**63))
_TEXTS = (
    *(
        "",
        "true",
        "FALSE",
        "yes",
        "12",
        " 12",
        "12 ",
        "+7",
        "-0",
        "007",
        "1.5",
        "1e3",
        "3000000000",
        "99999999999999999999",
    ),
    *("0x1f", "1_000", "1d", "NaN", "Infinity", "1e400", "1e39", "é☃🍕", "YWI=", "YWI", "-_8=", "YQ==YQ==", "\x00"),
    *("2024-01-02", "20240102", "2024-1-2", "0000-01-01", "9999-12-31", "-0001-01-01", "03:04", "03:04:05.1234567"),
    *("24:00", "03:04Z", "2024-01-02T03:04:05", "2024-01-02 03:04:05.123456789", "2024-01-02T03:04:05.1Z"),
    *("2024-01-02T03:04:05+08", "2024-01-02T03:04:05-0830", "2024-01-02T03:04:05+08:00", "2024-01-02T03:04"),
    *(
        "2024-01-02T03:04+08:00",
        "2024-02-30T00:00:00",
        "2024-01-02t03:04:05z",
        "2024-01-02T03:04:05Z[UTC]",
        "{}",
        "[1]",
    ),
    *("f79c3e09-677c-4bbd-a479-3f349cb785e7", "F79C3E09677C4BBDA4793F349CB785E7", "1-1-1-1-1"),
)
_DECIMALS = (0, 1, -1, 5, 50, -50, 55, 45, 125, 100, -200, 12_345_678, 10**11, 2**63 * 100, 10**38 - 1)


class Source(NamedTuple):
    """A type of Connect in Avro, and values of it as they are written."""

    avro: Any
    values: tuple[Any, ...]


def _connect(kind: str, name: str, *values: Any) -> Source:
    return Source({"type": kind, "connect.name": name}, values)


def _logical(kind: str, name: str, *values: Any) -> Source:
    return Source({"type": kind, "logicalType": name}, values)


_DAYS = (0, 1, -1, 19_724, -719_162, 2_932_896, 2_932_897, -719_163)
_MILLIS = (0, 1, -1, 86_400_000, 1_704_164_645_123, -62_135_596_800_000, 253_402_300_799_999, 253_402_300_800_000)
_MICROS = (0, 1, -1, 86_400_000_000, 1_704_164_645_123_456, -62_135_596_800_000_000, 253_402_300_800_000_000)
_RECORD = {"type": "record", "name": "S", "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "string"}]}


def _inside(name: str) -> Any:
    """Return a record of one field of each type."""
    kinds = {
        "f": "float",
        "d": "decimal",
        "b": "bytes",
        "l": "long",
        "t": "boolean",
        "z": "double",
        "s": "string",
        "date": "int",
        "time-millis": "int",
        "timestamp-millis": "long",
        "n": ["null", "int"],
        "a": {"type": "array", "items": "float"},
        "m": {"type": "map", "values": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 1}},
    }
    fields = [{"name": key.replace("-", "_"), "type": _logical_of(key, kind)} for key, kind in kinds.items()]
    return {"type": "record", "name": name, "fields": fields}


def _logical_of(key: str, kind: Any) -> Any:
    if kind == "decimal":
        return {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}
    return {"type": kind, "logicalType": key} if key in LOGICAL else kind


def _entries(key: str) -> Any:
    fields = [{"name": "key", "type": key}, {"name": "value", "type": "string"}]
    entry = {"type": "record", "name": "MapEntry", "namespace": "io.confluent.connect.avro", "fields": fields}
    return {"type": "array", "items": {**entry, "connect.internal.type": "MapEntry"}}


_INSIDE: Final[dict[str, Any]] = {
    "f": 0.10000000149011612,
    "d": 125,
    "b": b"ab",
    "l": 2**53 + 1,
    "t": True,
    "z": 1e10,
    "s": 'é"\\',
    "date": 19_724,
    "time_millis": 1,
    "timestamp_millis": 1_704_164_645_123,
    "n": Branch(0, None),
    "a": [2.0, 0.10000000149011612],
    "m": [("x", 15)],
}

SOURCES: Final[dict[str, Source]] = {
    "BOOLEAN": Source("boolean", (True, False)),
    "INT8": Source({"type": "int", "connect.type": "int8"}, (0, 1, -128, 127)),
    "INT16": Source({"type": "int", "connect.type": "int16"}, (0, 1, -32768, 32767)),
    "INT32": Source("int", _WHOLE),
    "INT64": Source("long", _LONGS),
    "FLOAT32": Source("float", (*_REALS, 0.1, 3.3, 1.1e-5, 123456.789, _MAX_FLOAT, 1e-45)),
    "FLOAT64": Source("double", (*_REALS, 0.1, 3.3, 1e39, 2.7, 1.5e-7, 123456789.125, 1e300, 5e-324, 2.0**53, 0.25)),
    "STRING": Source("string", _TEXTS),
    "STRING named `uuid`": _connect("string", "uuid", *_TEXTS[-3:], "12"),
    "BYTES": Source("bytes", (b"", b"a", b"ab", b"abc", b"\xff\x00", b"12")),
    "BYTES `…Decimal`": Source({"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 2}, _DECIMALS),
    "BYTES `…Decimal` of 10 digits": Source(
        {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 10}, (0, 1, -1, 10**10, 10**38 - 1)
    ),
    "INT32 `…Date`": _logical("int", "date", *_DAYS),
    "INT32 `…Time`": _logical("int", "time-millis", 0, 1, 43_200_000, 86_399_999),
    "INT64 `…Timestamp`": _logical("long", "timestamp-millis", *_MILLIS),
    "Avro `time-micros`": _logical("long", "time-micros", 0, 1, 86_399_999_999),
    "Avro `timestamp-micros`": _logical("long", "timestamp-micros", *_MICROS),
    "Avro `local-timestamp-millis`": _logical("long", "local-timestamp-millis", *_MILLIS),
    "Avro `local-timestamp-micros`": _logical("long", "local-timestamp-micros", *_MICROS),
    "ARRAY of INT32": Source({"type": "array", "items": "int"}, ([], [1, -2], [2**31 - 1])),
    "ARRAY of STRING": Source({"type": "array", "items": "string"}, ([], ["a", 'é"\\\n'], ["12"])),
    "ARRAY of FLOAT32": Source({"type": "array", "items": "float"}, ([], [0.10000000149011612, 1e10], [2.0])),
    "ARRAY of STRUCT": Source({"type": "array", "items": _inside("I")}, ([], [_INSIDE])),
    "MAP": Source({"type": "map", "values": "int"}, ([], [("a", 1), ("é", 2)], [("12", 3)])),
    "MAP of STRUCT": Source({"type": "map", "values": _inside("J")}, ([], [("k", _INSIDE)])),
    "MAP of INT32 to STRING": Source(_entries("int"), ([{"key": 1, "value": "x"}], [])),
    "MAP of FLOAT64 to STRING": Source(_entries("double"), ([{"key": 1e10, "value": "x"}],)),
    "STRUCT of all": Source(_inside("K"), (_INSIDE, {**_INSIDE, "f": 1e10, "d": -1, "z": 1.5e300})),
    "STRUCT": Source(_RECORD, ({"a": 1, "b": ""}, {"a": -5, "b": 'é"'})),
}


JSON_VALUES: Final = (
    *(
        "0",
        "-0",
        "1",
        "-1",
        "12",
        "86399999",
        "86400000",
        "2147483647",
        "3000000000",
        "1700000000123",
        "9007199254740993",
    ),
    *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "12345678901234567890"),
    *("0.0", "-0.0", "1.0", "0.5", "2.7", "1e3", "1e10", "1.5e-7", "1e39", "1e300", "1e400", "1700000000.5", "123.455"),
    *(
        "1234567890.123456789012345678",
        "true",
        "false",
        "null",
        "[]",
        "{}",
        "[1]",
        "[1,2.5]",
        '["a"]',
        "[null]",
        "[[1]]",
    ),
    *('{"a":1}', '{"a":null}', '{"1":2}', '{"z":5}', '[{"a":1}]', *map(json.dumps, _TEXTS)),
)
"""Values of JSON without a schema."""


def encoded(source: Source, schema_id: int) -> list[bytes]:
    """Write each value as a record with the field ``c``, as Apicurio's converter writes it."""
    schema = avro_of(source)
    values = Values(Random(0))
    values.learn(schema)
    head = b"\x00" + schema_id.to_bytes(8, "big")
    return [head + values.encode(schema, {"c": value}) for value in source.values]


def avro_of(source: Source) -> Any:
    """Return the schema of the records."""
    return {"type": "record", "name": "R", "fields": [{"name": "c", "type": source.avro}]}


def texts_of(sources: dict[str, Source]) -> list[str]:
    """Return the schemas of sources, each at the place that is its id."""
    return [json.dumps(avro_of(source)) for source in sources.values()]
