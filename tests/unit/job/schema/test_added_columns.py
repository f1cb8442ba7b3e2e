"""Counting what a record adds says what working it out says, or leaves it to that."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.schema import Schema
from pyiceberg.types import ListType, LongType, MapType, NestedField, StringType, StructType

from floe_job.convert.json import decoder
from floe_job.convert.json.decoder import JsonDecoder
from floe_job.exceptions import SchemaConflict
from floe_job.schema import field_outline, limits
from floe_job.schema.field_outline import Unsure
from floe_job.schema.proposal import ColumnRules
from floe_job.schema.proposed_columns import AddedColumns

COLUMNS, LEVELS = 12, 4
STRUCT = StructType(NestedField(10, "a", LongType(), required=False))
SCHEMA = Schema(
    NestedField(1, "n", LongType(), required=False),
    NestedField(2, "s", STRUCT, required=False),
    NestedField(3, "l", ListType(4, STRUCT, element_required=False), required=False),
    NestedField(5, "m", MapType(6, StringType(), 7, STRUCT, value_required=False), required=False),
)


@pytest.fixture(autouse=True, scope="module")
def low_caps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MAX_COLUMNS", COLUMNS)
        patch.setattr(limits, "MAX_COLUMN_DEPTH", LEVELS)
        patch.setattr(field_outline, "MAX_COLUMN_DEPTH", LEVELS)
        yield


scalars = st.sampled_from([None, 1, 2**70, 1.5, True, "x", "ä", "\ud800"])
keys = st.sampled_from(["a", "A", "b", "c", "n", "s", "l", "m", "", "element"])
values = st.recursive(
    scalars, lambda inside: st.lists(inside, max_size=3) | st.dictionaries(keys, inside, max_size=3), max_leaves=8
)
records = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("a", "b", "c", "A", ""), values),
        "n": st.integers(0, 9),
        "s": st.dictionaries(st.sampled_from(["b", "c", "B"]), values, max_size=3),
        "l": st.lists(st.dictionaries(st.sampled_from(["b", "c", "B"]), values, max_size=3), max_size=3),
        "m": st.dictionaries(keys, st.dictionaries(st.sampled_from(["b", "c"]), values, max_size=2), max_size=3),
    },
)


def outcome(given_values: list[bytes], rules: ColumnRules) -> Any:
    one = JsonDecoder(SCHEMA, rules, create=False)
    try:
        rejected = one.decode(given_values).rejected
    except SchemaConflict as conflict:
        return str(conflict)
    return rejected, list(one.needs.columns.items())


def unsure(*_: Any) -> Any:
    raise Unsure


@given(st.lists(records, max_size=8), st.booleans(), st.sampled_from(["dead-letter", "string", "fail"]), st.booleans())
def test_counting_gives_what_working_it_out_gives(found: list[Any], fold: bool, conflict: Any, rows: bool) -> None:
    texts = [json.dumps(one).encode() for one in found]
    rules = ColumnRules(evolve=True, case_insensitive=fold, on_conflict=conflict)
    with pytest.MonkeyPatch.context() as patch:
        if rows:
            patch.setattr(decoder.JsonDecoder, "_read_chunk", lambda self, batch: self._read_rows(batch, len(texts)))
        counted = outcome(texts, rules)
        patch.setattr(AddedColumns, "count", unsure)
        assert outcome(texts, rules) == counted


@pytest.mark.parametrize(
    ("record", "columns", "first"),
    [
        ({"a": 1, "b": {"c": [1, 2.5]}}, 4, "a"),
        ({"b": {"c": {}}, "a": None}, 0, None),
        ({"a": [{"x": 1}, {"y": True}, None]}, 4, "a"),
        ({"a": [[], [1]]}, None, None),
        ({"a": [1, "x"]}, None, None),
        ({"a": 2**63}, None, None),
        ({"a": "\ud800"}, None, None),
        ({"a": 1, "A": 2}, 2, "a"),
    ],
)
def test_look_counts_columns_or_is_unsure(record: dict[str, Any], columns: int | None, first: str | None) -> None:
    look = AddedColumns({}, fold=False)
    found = [((key,), value) for key, value in record.items() if value is not None]
    if columns is None:
        with pytest.raises(Unsure):
            look.count(found)
    else:
        assert look.count(found) == (columns, None if first is None else (first,))
