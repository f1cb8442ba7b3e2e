"""A task whose records go through transforms before they are routed: every record is counted once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from pyiceberg.io import load_file_io
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from floe.config import parse_connector
from floe.config.sections.routing import Routing
from floe.model.accounting import RangeCounts, TableCounts
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange
from floe_job.contract.result import TaskResult
from floe_job.contract.task import DeadLetterRules, RouteRules, TableTarget, Task
from floe_job.source.record_batch import RangePart
from floe_job.task import read_task
from floe_job.transform import chain
from tests.support.connectors import MINIMAL
from tests.support.job.own_transforms import steer
from tests.support.job.transforms import transform
from tests.support.kafka.messages import GivenMessages, Message, values_of
from tests.support.tables.parquet_tables import TableFactory

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "mark", StringType(), required=False),
)
GIVEN = [
    b'{"id":1}',
    b'{"id":2,"do":"drop"}',
    b'{"id":3,"do":"refuse"}',
    b'{"id":4,"do":"empty"}',
    None,
    b"no json",
    b'{"id":"many"}',
    b'{"id":8,"do":"rename","to":"other"}',
]
RANGE = OffsetRange("pizzas", "T1", 0, 0, len(GIVEN))


@dataclass(frozen=True)
class GivenBatch:
    """What a reader hands out."""

    given: Sequence[bytes | None]

    @property
    def offsets(self) -> Any:
        return np.arange(len(self.given))

    @property
    def values(self) -> Any:
        return values_of(self.given)

    @property
    def nbytes(self) -> int:
        return sum(len(value or b"") for value in self.given)

    @property
    def messages(self) -> Any:
        return GivenMessages([Message(offset) for offset in range(len(self.given))])


class GivenReader:
    """Reads GIVEN."""

    def read(self, _: OffsetRange, _epoch: int | None = None) -> Iterator[GivenBatch]:
        yield GivenBatch(GIVEN)

    def close(self) -> None: ...


@pytest.fixture
def task(monkeypatch: pytest.MonkeyPatch, new_table: TableFactory) -> Task:
    monkeypatch.setattr(read_task.RangeReader, "open", lambda *_: GivenReader())
    table = new_table(SCHEMA)
    io = load_file_io(dict(table.properties), table.location())
    target = TableTarget("ns.t", table.metadata, io, table.properties)
    routes = RouteRules(Routing(), (), transforms=(steer(),))
    routes = replace(routes, tables=(("ns.t", _settings()),))
    return Task(0, (RangePart(RANGE, 0, len(GIVEN)),), (target,), routes, _dead_letters(tolerate=True), {})


def _settings() -> Any:
    from floe.config.sections.tables import TableSettings

    return TableSettings()


def _dead_letters(*, tolerate: bool) -> DeadLetterRules:
    return DeadLetterRules(replace(parse_connector(MINIMAL).errors, tolerate=tolerate), "c", "id")


def run(task: Task) -> TaskResult:
    result = read_task.run_task(task)
    assert result.failure is None
    return result


def test_transformed_records_are_counted_once(task: Task) -> None:
    result = run(task)
    (part,) = result.range_parts
    assert part.counts == RangeCounts(routed=3, dead=2, tombstones=2, filtered_by_transforms=1)
    assert part.counts.total == len(RANGE)
    assert result.tables["ns.t"].counts == TableCounts(assigned=3, rows=2, dead=1)
    assert result.dead_letters.dead == 3
    assert dict(result.dead_letters.reasons) == {"TransformRefused": 1, "Malformed": 1, "Unconvertible": 1}


def test_transformed_records_are_the_same_in_small_parts(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = run(task)
    monkeypatch.setattr(chain, "PARSED_BYTES", 10)
    parts = run(task)
    assert parts.range_parts[0].counts == whole.range_parts[0].counts
    assert parts.tables["ns.t"].counts == whole.tables["ns.t"].counts


def test_masked_fields_of_json_refuse_tombstones_alone(task: Task) -> None:
    chain_ = (transform("ReplaceField$Value", renames="do:mark"), transform("MaskField$Value", fields="mark"))
    result = run(replace(task, routes=replace(task.routes, transforms=chain_)))
    (part,) = result.range_parts
    assert part.counts == RangeCounts(routed=7, dead=1)
    assert result.tables["ns.t"].counts == TableCounts(assigned=7, rows=5, dead=2)
    assert dict(result.dead_letters.reasons) == {"TransformRefused": 1, "Malformed": 1, "Unconvertible": 1}


def test_transformed_records_of_other_slices_are_filtered(task: Task) -> None:
    catching_up = replace(task, routes=replace(task.routes, rejects_records=False, only=frozenset({"ns.t"})))
    (part,) = run(catching_up).range_parts
    assert part.counts == RangeCounts(routed=3, filtered=2, tombstones=2, filtered_by_transforms=1)


def test_transformed_records_redriven_are_those_with_letters(task: Task) -> None:
    log_id = LogId.of(RANGE)
    dead_letters = DeadLetterOffsets.of([(None, log_id, Intervals(((2, 3),))), ("ns.t", log_id, Intervals(((0, 1),)))])
    redriven = replace(task, routes=replace(task.routes, redriven=dead_letters))
    (part,) = run(redriven).range_parts
    assert part.counts == RangeCounts(routed=1, dead=1, filtered=6)


def test_transform_refusals_fail_an_intolerant_task(task: Task) -> None:
    result = run(replace(task, dead_letters=_dead_letters(tolerate=False)))
    kinds = {kind.what: count for kind, count in result.bad.kinds.items()}
    assert kinds == {
        "are refused by a transform": 1, "cannot be read": 1, "cannot become rows of table 'ns.t'": 1
    }  # fmt: skip
    assert result.bad.read == 5
