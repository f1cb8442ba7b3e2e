"""The table of Connect's types in docs/reference/conversion.md: each makes the column, and is taken by those it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.schema import Schema
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

from floe_job.connect import logical
from floe_job.connect.arrow import arrow_type
from floe_job.connect.schema import ConnectSchema, Kind, array, map_of, struct
from floe_job.convert.typed.base import TypedBatch, TypedPart
from floe_job.convert.typed.table import TypedTable
from floe_job.schema.proposal import ColumnRules
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "reference" / "conversion.md").read_text(encoding="utf-8")

COLUMNS: dict[str, IcebergType] = {
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "decimal": DecimalType(9, 1),
    "string": StringType(),
    "uuid": UUIDType(),
    "binary": BinaryType(),
    "fixed": FixedType(2),
    "date": DateType(),
    "time": TimeType(),
    "timestamp": TimestampType(),
    "timestamptz": TimestamptzType(),
    "list": ListType(10, LongType(), element_required=False),
    "map": MapType(10, StringType(), 11, LongType(), value_required=False),
    "struct": StructType(NestedField(12, "a", LongType(), required=False)),
}
TEXTS = ("true", "12", "YWI=", "2024-01-02", "03:04", "2024-01-02T03:04:05Z", "f79c3e09-677c-4bbd-a479-3f349cb785e7")
DAY, HOUR = datetime(2024, 1, 2, tzinfo=UTC), datetime(2024, 1, 2, 3, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
INT, TEXT = ConnectSchema(Kind.INT32), ConnectSchema(Kind.STRING)


class Sample(NamedTuple):
    """A type of Connect, and values of it."""

    schema: ConnectSchema
    values: tuple[Any, ...]


def named(kind: Kind, name: str, *values: Any, **parameters: str) -> Sample:
    return Sample(ConnectSchema(kind, name=name, parameters=tuple(parameters.items())), values)


SAMPLES: dict[str, Sample] = {
    "BOOLEAN": Sample(ConnectSchema(Kind.BOOLEAN), (True,)),
    "INT8": Sample(ConnectSchema(Kind.INT8), (12,)),
    "INT16": Sample(ConnectSchema(Kind.INT16), (12,)),
    "INT32": Sample(INT, (12,)),
    "INT64": Sample(ConnectSchema(Kind.INT64), (12,)),
    "FLOAT32": Sample(ConnectSchema(Kind.FLOAT32), (1.5, 2.0)),
    "FLOAT64": Sample(ConnectSchema(Kind.FLOAT64), (1.5, 2.0)),
    "STRING": Sample(TEXT, TEXTS),
    "STRING named `uuid`": named(Kind.STRING, "uuid", *TEXTS),
    "BYTES": Sample(ConnectSchema(Kind.BYTES), (b"ab",)),
    "BYTES `…Decimal`": named(Kind.BYTES, logical.DECIMAL, Decimal("1.25"), Decimal("2.00"), scale="2"),
    "INT32 `…Date`": named(Kind.INT32, logical.DATE, date(2024, 1, 2)),
    "INT32 `…Time`": named(Kind.INT32, logical.TIME, time(3, 4)),
    "INT64 `…Timestamp`": named(Kind.INT64, logical.TIMESTAMP, DAY, HOUR),
    "Avro `time-micros`": named(Kind.INT64, logical.AVRO_TIME_MICROS, time(3, 4), time(0)),
    "Avro `timestamp-micros`": named(Kind.INT64, logical.AVRO_TIMESTAMP_MICROS, DAY, HOUR, EPOCH),
    "Avro `local-timestamp-millis`": named(
        Kind.INT64, logical.AVRO_LOCAL_TIMESTAMP_MILLIS, *(one.replace(tzinfo=None) for one in (DAY, HOUR, EPOCH))
    ),
    "ARRAY": Sample(array(INT), ([1],)),
    "MAP": Sample(map_of(TEXT, INT), ([("a", 1)],)),
    "STRUCT": Sample(struct({"a": INT}), ({"a": 1},)),
}


class Given:
    """A decoder whose values are decoded already."""

    def __init__(self, schema: ConnectSchema) -> None:
        self._schema = schema

    def decode(self, values: Sequence[Any]) -> TypedBatch:
        part = TypedPart(self._schema, np.arange(len(values)), pa.array(values, arrow_type(self._schema)))
        return TypedBatch((part,), (), len(values))


def documented() -> dict[str, tuple[str, str]]:
    """Return the new column and the columns that take it, by each of Connect's types."""
    table = PAGE.partition("| Connect's type |")[2].partition("\n\n")[0]
    found: dict[str, tuple[str, str]] = {}
    before = ""
    for line in table.splitlines()[2:]:
        types, new, takers = (cell.strip() for cell in line.split("|")[1:4])
        if takers == "as STRING":
            takers = found["STRING"][1]
        before = takers.replace("the same", before)
        found |= dict.fromkeys(_names(types), (new, before))
    return found


def _names(types: str) -> list[str]:
    names = types.split(", ")
    return [name if name[0] != "`" else f"Avro {name}" for name in names]


DOCUMENTED = documented()


def takers(text: str) -> set[str]:
    words = set(re.findall(r"[a-z]+", re.sub(r"\(.*?\)", "", text)))
    return {name for name in COLUMNS if name in words}


def columns_that_take(sample: Sample) -> Iterable[str]:
    source = struct({"c": sample.schema})
    for name, kind in COLUMNS.items():
        schema = Schema(NestedField(1, "c", kind, required=False))
        table = TypedTable(Given(source), schema, ColumnRules(), create=False)
        decoded = table.decode([{"c": value} for value in sample.values])
        if decoded.table is not None and decoded.table.num_rows:
            yield name


@pytest.mark.parametrize("name", SAMPLES)
def test_documented_columns_are_those_that_take_it(name: str) -> None:
    assert set(columns_that_take(SAMPLES[name])) == takers(DOCUMENTED[name][1])


@pytest.mark.parametrize("name", SAMPLES)
def test_documented_new_column_is_the_one_made(name: str) -> None:
    source = struct({"c": SAMPLES[name].schema})
    table = TypedTable(Given(source), None, ColumnRules(), create=True)
    assert table.decode([{"c": SAMPLES[name].values[0]}]).table is None
    (field,) = table.needs.new_schema().fields
    new = DOCUMENTED[name][0]
    assert re.match(r"[a-z]+", str(field.field_type))[0] == re.match(r"[a-z]+", new)[0]  # type: ignore[index]
    if new.startswith("decimal"):
        assert str(field.field_type) == "decimal(38, 2)"


def test_documented_types_are_all_there() -> None:
    assert DOCUMENTED.keys() - SAMPLES.keys() == {"Avro `local-timestamp-micros`"}
