"""Orders in each format: written as the format wants them, and read whole by its decoder."""

from __future__ import annotations

import json
import pickle

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from bench.formats.base import Format
from bench.formats.encoded_orders import orders_in
from bench.formats.orders import FIELDS, order
from bench.formats.registry import FORMATS
from bench.formats.scenario import FormatScenario
from floe.schema_registry.schema import RegisteredSchema
from floe_job.convert.typed.base import TypedBatch

ID = 258
DECODED = [one for one in FORMATS.values() if one.decoder]


def decoded(one: Format, values: list[bytes]) -> TypedBatch:
    """Decode values of a format with its schema, whatever the id."""
    schema = one.schema
    assert one.decoder is not None
    return one.decoder(lambda _: RegisteredSchema(schema) if schema else pytest.fail("asked")).decode(values)


@pytest.mark.parametrize("one", DECODED, ids=lambda one: one.name)
def test_orders_of_format_are_decoded_as_one_part(one: Format) -> None:
    values = list(orders_in(one.name, ID).values(1000, 300))
    batch = decoded(one, values)
    assert batch.rejected == ()
    (part,) = batch.parts
    rows = part.column.to_pylist()
    assert [row["order_id"] for row in rows] == [order(1000 + i)["order_id"] for i in range(300)]
    assert [set(row) for row in rows[:1]] == [{name for name, _ in FIELDS}]
    assert {row["total"] for row in rows} == {order(1000 + i)["total"] for i in range(300)}
    assert batch.fast_rows == 300


@pytest.mark.parametrize("one", DECODED, ids=lambda one: one.name)
def test_columns_of_format_fit_the_table(one: Format) -> None:
    shape = orders_in(one.name, ID)
    batch = decoded(one, list(shape.values(0, 50)))
    columns = pa.table(batch.parts[0].column.flatten(), schema=pa.schema(list(batch.parts[0].column.type)))
    assert columns.cast(schema_to_pyarrow(shape.schema, include_field_ids=False)).num_rows == 50


@pytest.mark.parametrize("name", FORMATS)
def test_scenario_has_the_converter_of_its_format_alone(name: str) -> None:
    shape = orders_in(name, 3)
    assert pickle.loads(pickle.dumps(shape)) == shape, "a process fills each partition"  # noqa: S301 - our own
    keys = FormatScenario(name, shape, "t", 1, format=name, registry="http://registry").keys("b1")
    given = {key: value for key, value in keys.items() if key.startswith("value.converter")}
    assert given == FORMATS[name].converter("http://registry")


def test_json_schema_orders_are_the_plain_ones_behind_the_id() -> None:
    plain, framed = (list(orders_in(name, ID).values(0, 20)) for name in ("json", "json-schema"))
    assert framed == [b"\x00\x00\x00\x01\x02" + value for value in plain]
    assert {name for value in plain for name in json.loads(value)} == {name for name, _ in FIELDS}
