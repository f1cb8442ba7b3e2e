"""Which tables are alike, and what their decoder leaves to the tables themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, StructType

from floe.config.sections.routing import Routing
from floe.model.dead_letters import DeadLetterOffsets
from floe_job.contract.task import RouteRules, TableTarget
from floe_job.routing.shared_decode import SharedDecoder
from floe_job.schema.proposal import ColumnRules
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.transforms import metadata
from tests.support.kafka.messages import PIECE, records
from tests.support.tables.parquet_tables import TableFactory

TO = StructType(NestedField(4, "kind", StringType(), required=False), NestedField(5, "n", LongType(), required=False))
SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "kind", StringType(), required=False),
    NestedField(3, "to", TO, required=False),
)
BY_FIELD = Routing(by="field", path=("kind",), template="{value}")


def rules(**over: Any) -> RouteRules:
    return RouteRules(replace(BY_FIELD, **over))


@pytest.fixture
def targets(new_table: TableFactory) -> list[TableTarget]:
    return [TableTarget(f"ns.t{i}", new_table(SCHEMA).metadata) for i in range(3)]


def test_tables_of_one_shape_are_alike(targets: list[TableTarget]) -> None:
    assert SharedDecoder.of(targets, rules(), JSON_CONVERTERS)
    assert SharedDecoder.of(targets, rules(path=("to", "kind")), JSON_CONVERTERS)
    assert SharedDecoder.of(targets[:2], rules(), JSON_CONVERTERS)


@pytest.mark.parametrize("path", [(), ("nowhere",), ("id",), ("to",), ("to", "n"), ("to", "kind", "x"), ("kind", "x")])
def test_a_route_that_is_in_no_column_of_text_is_read_by_itself(
    targets: list[TableTarget], path: tuple[str, ...]
) -> None:
    assert SharedDecoder.of(targets, rules(path=path), JSON_CONVERTERS) is None


def test_one_table_has_nothing_to_share(targets: list[TableTarget]) -> None:
    assert SharedDecoder.of(targets[:1], rules(), JSON_CONVERTERS) is None
    assert SharedDecoder.of([], rules(), JSON_CONVERTERS) is None


def test_a_re_drive_is_routed_by_its_letters(targets: list[TableTarget]) -> None:
    assert SharedDecoder.of(targets, replace(rules(), redriven=DeadLetterOffsets()), JSON_CONVERTERS) is None


@pytest.mark.parametrize(
    "over",
    [
        {"metadata": None},
        {"transforms": (metadata(),)},
        {"rules": ColumnRules(evolve=True)},
    ],
    ids=str,
)
@pytest.mark.parametrize("place", [0, 2])
def test_one_that_differs_makes_all_ask_for_themselves(
    targets: list[TableTarget], over: dict[str, Any], place: int
) -> None:
    targets[place] = replace(targets[place], **over)
    assert SharedDecoder.of(targets, rules(), JSON_CONVERTERS) is None


def test_columns_have_to_be_the_same_with_their_ids(targets: list[TableTarget], new_table: TableFactory) -> None:
    other = new_table(Schema(*(field for field in SCHEMA.fields if field.name != "to"))).metadata
    assert SharedDecoder.of([*targets, TableTarget("ns.other", other)], rules(), JSON_CONVERTERS) is None


def test_names_found_by_other_spellings_are_left_to_the_tables(
    targets: list[TableTarget], new_table: TableFactory
) -> None:
    folded = [replace(target, rules=ColumnRules(case_insensitive=True)) for target in targets]
    assert SharedDecoder.of(folded, rules(), JSON_CONVERTERS) is None
    mapping = '[{"field-id": 2, "names": ["kind", "sort"]}]'
    mapped = [
        TableTarget(f"ns.m{i}", new_table(SCHEMA, properties={"schema.name-mapping.default": mapping}).metadata)
        for i in range(2)
    ]
    assert SharedDecoder.of(mapped, rules(), JSON_CONVERTERS) is None


def test_each_row_has_its_route_and_what_has_no_row_is_left_over(targets: list[TableTarget]) -> None:
    together = SharedDecoder.of(targets, rules(), JSON_CONVERTERS)
    assert together
    values = [b'{"id":1,"kind":"a"}', b"{", b'{"id":2}', b'{"id":"x","kind":"b"}', b'{"id":3,"kind":4}']
    found = together.decode(records(PIECE, values))
    assert found is not None
    assert found.values.to_pylist() == ["a", None, "4"]
    assert found.rows.column("id").to_pylist() == [1, 2, 3]
    assert (found.records.offsets, found.rest.offsets) == ([0, 2, 4], [1, 3])
    assert not found.fast


@pytest.mark.parametrize("on_conflict", ["fail", "dead-letter", "string"])
def test_columns_that_tables_lack_are_for_each_to_say(targets: list[TableTarget], on_conflict: str) -> None:
    evolving = [replace(target, rules=ColumnRules(evolve=True, on_conflict=on_conflict)) for target in targets]
    together = SharedDecoder.of(evolving, rules(), JSON_CONVERTERS)
    assert together
    values = [b'{"id":1,"kind":"a","new":1}', b'{"id":2,"kind":"b","new":"text"}']
    assert together.decode(records(PIECE, values)) is None
