"""Records whose keys are chosen to be dear: what they cost is counted, not timed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.json
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from floe_job.convert.json.columnar import ColumnarReader
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.exceptions import Unconvertible
from floe_job.schema.inference import extend
from floe_job.schema.limits import MAX_COLUMNS, FullNames
from floe_job.schema.proposal import ColumnRules, Proposal, count
from floe_job.schema.proposed_columns import ProposedColumns
from tests.support.job.json_values import anything

SCHEMA = Schema(NestedField(1, "n", LongType(), required=False))
RECORDS = 3000


class Work:
    """What was done by columns: readers made for a set of columns, and cells, records times columns, that were parsed."""

    def __init__(self) -> None:
        self.readers = self.cells = 0


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    done = Work()
    make, parse = ColumnarReader.__init__, pyarrow.json.read_json

    def counted(reader: ColumnarReader, *arguments: Any) -> None:
        done.readers += 1
        make(reader, *arguments)

    def parsed(*arguments: Any, **more: Any) -> pa.Table:
        table = parse(*arguments, **more)
        done.cells += table.num_rows * table.num_columns
        return table

    monkeypatch.setattr(ColumnarReader, "__init__", counted)
    monkeypatch.setattr(pyarrow.json, "read_json", parsed)
    yield done


SHAPES: dict[str, Callable[[int], Any]] = {
    "keys": lambda i: {f"c{i}": 1},
    "keys of an object": lambda i: {"m": {f"c{i}": 1}},
    "keys of objects in a list": lambda i: {"l": [{f"c{i}_{j}": j} for j in range(3)]},
    "keys deep down": lambda i: {"a": {"b": {"c": {f"k{i}": {"v": i}}}}},
    "keys beside a column": lambda i: {"n": i, f"c{i}": 1},
    "keys of nothing": lambda i: {f"c{i}_{j}": None for j in range(9)},
    "keys of empty objects": lambda i: {f"c{i}_{j}": {} for j in range(9)},
    "keys that come again": lambda i: {f"c{i % 1500}": 1},
    "keys in every tenth": lambda i: {f"c{i}": 1} if i % 10 == 0 else {"n": i},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_keys_of_each_record_cost_no_more_than_it_has(shape: str, work: Work) -> None:
    values = [json.dumps(SHAPES[shape](i)).encode() for i in range(RECORDS)]
    decoder = JsonDecoder(SCHEMA, ColumnRules(evolve=True), create=False)
    decoded = decoder.decode(values)
    assert decoder.needs.count() < MAX_COLUMNS
    assert {one.error for one in decoded.rejected} <= {"TooManyColumns"}
    assert work.readers < 50
    assert work.cells < 500 * RECORDS


@pytest.mark.parametrize("fold", [False, True])
def test_table_at_its_cap_refuses_the_rest_by_name(fold: bool) -> None:
    decoder = JsonDecoder(SCHEMA, ColumnRules(evolve=True, case_insensitive=fold), create=False)
    decoded = decoder.decode([b'{"c%d":1}' % i for i in range(1200)])
    assert decoder.needs.count() == MAX_COLUMNS - 1
    assert [one.index for one in decoded.rejected] == list(range(MAX_COLUMNS - 1, 1200))
    assert {(one.stage, one.error) for one in decoded.rejected} == {("schema", "TooManyColumns")}


def test_wide_table_parses_no_sparse_chunk_many_times(work: Work) -> None:
    schema = Schema(*(NestedField(i + 1, f"c{i}", LongType(), required=False) for i in range(MAX_COLUMNS)))
    decoder = JsonDecoder(schema, ColumnRules(evolve=True), create=False)
    decoded = decoder.decode([b'{"c%d":1}' % i for i in range(RECORDS)])
    assert len(decoded.rejected) == RECORDS - MAX_COLUMNS
    assert work.cells < 4 * RECORDS * MAX_COLUMNS


@pytest.mark.parametrize(("filled", "fast"), [(2, 0), (500, 600)])
def test_wide_table_is_read_by_what_records_fill(filled: int, fast: int, work: Work) -> None:
    schema = Schema(*(NestedField(i + 1, f"c{i}", LongType(), required=False) for i in range(MAX_COLUMNS)))
    records = [{f"c{(i + 7 * j) % MAX_COLUMNS}": j for j in range(filled)} for i in range(600)]
    decoded = JsonDecoder(schema, ColumnRules(), create=False).decode([json.dumps(one).encode() for one in records])
    assert decoded.fast_rows == fast
    assert (work.cells > 0) == (fast > 0)
    assert decoded.table is not None
    found = [{name: value for name, value in row.items() if value is not None} for row in decoded.table.to_pylist()]
    assert found == records


def test_full_name_with_more_dots_than_levels_is_refused() -> None:
    decoder = JsonDecoder(SCHEMA, ColumnRules(evolve=True), create=False)
    decoded = decoder.decode([b'{"%s":1}' % b".".join([b"a"] * 100), b'{"a.b":1}'])
    assert [(one.index, one.error) for one in decoded.rejected] == [(0, "NameTooLong")]
    assert list(decoder.needs.columns) == [("a.b",)]


def test_refused_record_leaves_no_column_behind() -> None:
    decoder = JsonDecoder(SCHEMA, ColumnRules(evolve=True, on_conflict="string"), create=False)
    decoder.decode([b'{"a":{"b":{"c":1}},"l":[{"d":1}]}'])
    before = dict(decoder.needs.columns)
    decoded = decoder.decode([b'{"a":"text","l":[{"d":"x","e":2}],"z":{"y":1},"":1}'])
    assert [one.error for one in decoded.rejected] == ["Unnameable"]
    assert decoder.needs.columns == before
    assert not decoder.decode([b'{"a":{"b":{"c":2}},"z":5}']).rejected
    assert decoder.needs.columns == {**before, ("z",): "long"}


@given(st.lists(anything, max_size=6), st.sampled_from(["string", "dead-letter"]), st.booleans())
def test_columns_grow_as_the_rules_of_inference_say(values: list[Any], conflict: Any, fold: bool) -> None:
    rules = ColumnRules(evolve=True, on_conflict=conflict, case_insensitive=fold)
    columns = ProposedColumns(rules, FullNames(()), 0)
    known: Proposal | None = None
    for value in values:
        grown = extend(known, value, rules, ("a",))
        try:
            has_changed = columns.take([(("a",), value)] if value is not None else [])
        except Unconvertible:  # what the first type does not take, under dead-letter
            columns.undo()
            continue
        columns.keep()
        assert has_changed == (grown != known)
        known = grown
        if has_changed:
            assert columns.changes() == {("a",): known}
        assert columns.count == (0 if known is None else count(known))
