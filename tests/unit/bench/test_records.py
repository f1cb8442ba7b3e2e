"""The benchmark's records: each fits the table it is for, and depends on its number alone."""

from __future__ import annotations

import json

import pytest
from pyiceberg.schema import index_by_id

from bench.records import NESTED, PIZZA, ROUTED, UNTIDY, WIDE, Shape
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.schema.proposal import ColumnRules

SHAPES = (PIZZA, ROUTED, NESTED, WIDE, UNTIDY)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_records_fit_their_table_whole(shape: Shape) -> None:
    values = list(shape.values(1_000, 500))
    decoded = JsonDecoder(shape.schema, ColumnRules(evolve=True), create=False).decode(values)
    assert decoded.rejected == ()
    assert decoded.table is not None  # else a column was missing
    assert (decoded.table.num_rows, decoded.fast_rows) == (500, 500)
    assert {name for value in values for name in json.loads(value)} == {name for name, _ in shape.fields}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_field_ids_are_unique_all_the_way_down(shape: Shape) -> None:
    assert shape.schema.highest_field_id == len(index_by_id(shape.schema))


@pytest.mark.parametrize(
    ("shape", "size"), [(PIZZA, 184), (NESTED, 900), (WIDE, 1_000), (UNTIDY, 300)], ids=lambda x: getattr(x, "name", x)
)
def test_sizes_are_those_that_the_report_speaks_of(shape: Shape, size: int) -> None:
    sizes = [len(value) for value in shape.values(0, 2_000)]
    assert sum(sizes) / len(sizes) == pytest.approx(size, rel=0.1)


def test_a_record_depends_on_its_number_alone() -> None:
    assert list(PIZZA.values(0, 10))[5:] == list(PIZZA.values(5, 5))
