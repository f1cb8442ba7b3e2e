"""Rows and change events that transforms are measured with, their chains, and what is asked of the figures."""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from bench.formats.registry import FORMATS
from bench.measurement import Measurement
from bench.targets import check_targets
from bench.transforms import scenario
from bench.transforms.rows import EVENT_FIELDS, FIELDS, change, deletes, row
from bench.transforms.scenario import FILTERED, FLAT, MARKED, OF_EPOCH, OF_TEXT, TransformScenario, turns
from bench.transforms.schemas import avro_schema
from bench.transforms.shapes import MARK, PLAIN_FIELDS, RowShape
from bench.transforms.targets import SINK, WARM
from floe.config import parse_connector
from floe.schema_registry.schema import RegisteredSchema, SchemaText

BOTH = (False, True)
CATALOG = {"name": "orders", "iceberg.catalog": "c", "iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://c"}


def shape(form: str, *, is_change: bool) -> RowShape:
    return RowShape("orders", EVENT_FIELDS if is_change else FIELDS, form, is_change, schema_id=7)


def groups(monkeypatch: pytest.MonkeyPatch, records: int) -> list[Sequence[TransformScenario]]:
    """Return what is measured, without a registry."""
    monkeypatch.setattr(scenario, "shape_of", lambda name, _, *, is_change: shape(name, is_change=is_change))
    return list(turns(records, "http://registry"))


@pytest.mark.parametrize("is_change", BOTH, ids=["rows", "changes"])
@pytest.mark.parametrize("form", ["envelope", "avro"])
def test_records_are_decoded_as_one_part_that_fits_the_table(form: str, *, is_change: bool) -> None:
    made = shape(form, is_change=is_change)
    schema = RegisteredSchema(SchemaText("AVRO", json.dumps(avro_schema(is_change=is_change))))
    decoder = FORMATS[form].decoder
    assert decoder is not None
    batch = decoder(lambda _: schema).decode(list(made.values(40, 200)))
    assert batch.rejected == ()
    (part,) = batch.parts
    columns = pa.table(part.column.flatten(), schema=pa.schema(list(part.column.type)))
    assert columns.cast(schema_to_pyarrow(made.schema, include_field_ids=False)).num_rows == 200
    assert columns.column_names == [name for name, _ in made.fields]


def test_rows_have_the_size_of_orders_and_all_columns() -> None:
    values = list(RowShape("orders", PLAIN_FIELDS).values(5_000, 100))
    assert 270 < sum(map(len, values)) / 100 < 330
    assert all(set(json.loads(value)) == {name for name, _ in PLAIN_FIELDS} for value in values)


@pytest.mark.parametrize("records", [0, 9, 10, 95, 1_000])
def test_deletes_are_the_events_without_a_row(records: int) -> None:
    assert deletes(records) == sum(change(number)["after"] is None for number in range(records))


def test_events_have_the_row_before_unless_they_create_it() -> None:
    events = [change(number) for number in range(100)]
    assert {event["op"] for event in events if event["before"] is None} == {"c"}
    assert {event["op"] for event in events} == {"c", "u", "d"}
    assert all(set(event["before"]) == set(row(0)) for event in events if event["before"])


def test_every_second_record_has_the_mark_if_records_are_marked() -> None:
    marked = RowShape("orders", PLAIN_FIELDS, is_marked=True)
    assert [[name for name, _ in marked.headers(number)] for number in range(2)] == [["origin"], ["origin", MARK]]
    assert RowShape("orders", PLAIN_FIELDS).headers(1) == []
    assert pickle.loads(pickle.dumps(marked)) == marked, "a process fills each partition"  # noqa: S301 - our own


def test_floe_takes_the_keys_of_every_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    for one in (one for group in groups(monkeypatch, 1_000) for one in group):
        keys = {**CATALOG, **one.keys("b1")}
        chain = [spec.alias for spec in parse_connector(keys).transforms]
        assert ",".join(chain) == one.chain.get("transforms", ""), one.name


def test_scenarios_have_columns_and_rows_after_their_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {one.name: one for group in groups(monkeypatch, 1_000) for one in group}
    assert {"customer", "store", "kafka_offset"} <= set(found[OF_TEXT].shape.schema.column_names)
    assert not {"customer_id", "store_id", "channel", "city"} & set(found[OF_TEXT].shape.schema.column_names)
    kinds = {name: str(found[name].shape.schema.find_type("updated_at")) for name in (FLAT, OF_TEXT, OF_EPOCH)}
    assert kinds == {FLAT: "long", OF_TEXT: "long", OF_EPOCH: "timestamptz"}
    assert found["change events, avro, unwrapped"].shape.schema == found["rows, avro"].shape.schema
    assert [found[name].rows for name in ("change events, avro, unwrapped", MARKED, FILTERED)] == [900, 1_000, 500]
    assert found["change events, envelope, unwrapped"].rows == 225


def one(name: str, system: str, seconds: float, number: int = 0, cpu: float = 1.0, nbytes: int = 100) -> Measurement:
    return Measurement(name, system, number, 1_000, seconds, cpu, more={"bytes": nbytes})


def test_transforms_are_judged_by_ratios_of_medians() -> None:
    found = [one(FLAT, WARM, 4.0, i) for i in range(3)]
    found += [one(OF_TEXT, WARM, s, i) for i, s in enumerate((4.0, 5.0, 9.0))]
    found += [one(OF_TEXT, SINK, 24.0, i) for i in range(3)]
    found += [one(MARKED, WARM, 4.0), one(FILTERED, WARM, 3.7)]
    checks = {check.what: (check.wanted, check.text, check.holds) for check in check_targets(found)}
    assert checks == {
        "three transforms of flat JSON vs none": ("≤ 1.25 ×", "1.25 × (1.00–2.25)", True),
        "Filter of half of the records vs none": ("≤ 0.9 ×", "0.93 × (0.93–0.93)", False),
        "flat JSON, three transforms: floe warm vs sink": ("5 ×", "4.80 × (2.67–6.00)", False),
    }


def test_unwrapped_events_are_compared_with_rows_per_byte() -> None:
    found = [one("change events, avro, unwrapped", WARM, 3.0, cpu=3.0, nbytes=200), one("rows, avro", WARM, 1.0)]
    (check,) = check_targets(found)
    assert (check.what, check.text, check.holds) == (
        "change events, avro, unwrapped, vs rows: CPU per byte",
        "1.50 × (1.50–1.50)",
        False,
    )
