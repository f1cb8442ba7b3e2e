"""Change events with schemas: as columns, and the same one by one."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from floe_job.connect.schema import ConnectSchema, Kind, struct
from floe_job.convert.base import Parsed
from floe_job.convert.typed.base import TypedPart
from floe_job.convert.typed.whole_values import TypedColumns, TypedValues, arrow_column, batch_of
from floe_job.transform.batch import UNREAD, ParsedBatch, Readers
from floe_job.transform.chain import Chain
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records

COUNT = 300
TEXT, LONG = ConnectSchema(Kind.STRING, True), ConnectSchema(Kind.INT64, True)
ROW = struct({"id": LONG, "name": TEXT, "inner": struct({"a": LONG}, optional=True)}, name="t.Value", optional=True)
SOURCE = struct({"db": TEXT, "schema": TEXT, "table": TEXT, "ts_ms": LONG}, name="Source")
TRANSACTION = struct({"id": TEXT, "total_order": LONG}, optional=True)
KEY = struct({"id": LONG}, name="t.Key")
CHAINS: dict[str, dict[str, str]] = {
    "ExtractNewRecordState": {},
    "ExtractNewRecordState drop": {
        "delete_handling_mode": "drop",
        "add_fields": "op,table,source.ts_ms,transaction.id",
    },
    "ExtractNewRecordState rewrite": {
        "delete_tombstone_handling_mode": "rewrite",
        "add_fields": "total_order:n,nothing",
    },
    "ExtractNewRecordState keep": {
        "delete_tombstone_handling_mode": "rewrite-with-tombstone",
        "add_headers": "op,ts_ms,id",
        "route_by_field": "name",
    },
    "ExtractNewRecordState route": {"route_by_field": "name"},
    "DebeziumTransform": {},
    "DebeziumTransform pattern": {"cdc_target_pattern": "lake.{table}_{db}"},
}


def envelope(row: ConnectSchema = ROW) -> ConnectSchema:
    parts = {"before": row, "after": row, "source": SOURCE, "op": ConnectSchema(Kind.STRING)}
    return struct({**parts, "ts_ms": LONG, "transaction": TRANSACTION}, name="t.Envelope")


def row_of(random: Random) -> dict[str, Any]:
    inner = random.choice((None, {"a": random.choice((None, 1))}))
    return {"id": random.randrange(9), "name": random.choice((None, "x", "y", " ")), "inner": inner}


def event(random: Random) -> dict[str, Any]:
    op = random.choice("cruudd")
    return {
        "before": row_of(random) if op in "ud" else None,
        "after": row_of(random) if op != "d" else None,
        "source": {"db": "d", "schema": "s", "table": random.choice(("t", "u")), "ts_ms": random.randrange(10**12)},
        "op": op,
        "ts_ms": random.randrange(10**12),
        "transaction": random.choice((None, {"id": "7", "total_order": 1})),
    }


def column_of(schema: ConnectSchema, given: dict[int, Any]) -> TypedColumns:
    places = np.array(sorted(given), np.int64)
    return TypedColumns(COUNT, [TypedPart(schema, places, arrow_column([given[i] for i in places], schema))])


def batch(values: TypedColumns | TypedValues, keys: TypedColumns) -> ParsedBatch:
    source = records(PIECE, [b"x" if here else None for here in (value is not None for value in values)])
    readers = Readers(UNREAD.values, lambda _, places: Parsed(keys.select(places), ()))
    return replace(ParsedBatch.of(source, Parsed(values, ())), readers=readers)


def given_values(seed: int, schema: ConnectSchema | None = None) -> tuple[TypedColumns, TypedColumns]:
    random = Random(seed)
    values = {i: event(random) for i in range(COUNT) if random.random() < 0.9}
    keys = {i: {"id": i} for i in range(COUNT) if random.random() < (0.9 if seed % 2 else 2)}
    return column_of(schema or envelope(), values), column_of(KEY, keys)


def outcome(done: ParsedBatch) -> tuple[Any, ...]:
    parts = {
        (part.schema, int(place)): value
        for part in batch_of(done.values).parts
        for place, value in zip(part.places, part.column.to_pylist(), strict=True)
    }
    headers = None if done.headers is None else [list(one or ()) for one in done.headers]
    return list(done.places), parts, list(done.read_topics()), headers, done.filtered, done.rejected


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", CHAINS)
def test_events_as_columns_are_what_they_are_one_by_one(name: str, seed: int) -> None:
    values, keys = given_values(seed)
    chain = Chain.of([transform(name.split()[0], **CHAINS[name])])
    columns, objects = chain.apply(batch(values, keys)), chain.apply(batch(values.objects(), keys))
    assert isinstance(columns.values, TypedColumns)
    assert columns.values._objects is None, "no object was made for a record"
    assert isinstance(objects.values, TypedValues)
    assert outcome(columns) == outcome(objects)
    assert len(columns) > 0


@pytest.mark.parametrize("deletes", ["rewrite", "drop", "none"])
@pytest.mark.parametrize(
    ("fill", "names"), [({}, {None, "x", "y", " "}), ({"replace_null_with_default": "true"}, {"d", "x", "y", " "})]
)
def test_nulls_of_an_event_become_defaults_only_if_asked(
    fill: dict[str, str], names: set[str | None], deletes: str
) -> None:
    fields = {name: replace(one, default="d" if name == "name" else one.default) for name, one in ROW.fields}
    values, keys = given_values(1, envelope(replace(ROW, fields=tuple(fields.items()))))
    chain = Chain.of([transform("ExtractNewRecordState", delete_handling_mode=deletes, **fill)])
    done = chain.apply(batch(values, keys))
    assert {value["name"] for value in done.values if value is not None} == names


def test_event_refused_among_columns_is_refused_alone() -> None:
    random = Random(1)
    given = {i: event(random) for i in range(COUNT)}
    given[7] |= {"op": "c", "after": None}
    given[9] |= {"ts_ms": None}
    keys = column_of(KEY, {i: {"id": i} for i in range(COUNT)})
    done = Chain.of([transform("DebeziumTransform")]).apply(batch(column_of(envelope(), given), keys))
    assert [(one.index, one.stage) for one in done.rejected] == [(7, "transform"), (9, "transform")]
    assert len(done) == COUNT - 2


def test_values_of_other_schemas_stay_as_they_are() -> None:
    heartbeat = struct({"ts_ms": LONG}, name="io.debezium.connector.common.Heartbeat")
    values = column_of(heartbeat, {i: {"ts_ms": i} for i in range(COUNT)})
    done = Chain.of([transform("ExtractNewRecordState")]).apply(batch(values, column_of(KEY, {})))
    assert [value["ts_ms"] for value in done.values] == list(range(COUNT))
