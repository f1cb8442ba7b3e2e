"""What the tasks of a slice did is checked before anything is announced."""

from __future__ import annotations

from typing import cast

import pytest

from floe.kafka.settings import KafkaSettings
from floe.model.accounting import RangeCounts
from floe.model.exceptions import CountsDoNotAddUp
from floe.model.offsets import PartitionLog, TopicPartition
from floe_job.contract.result import RangePartResult, TaskResult
from floe_job.driver.inputs import SliceDeadLetters, SliceInputs
from floe_job.driver.job import SliceJob
from floe_job.driver.rounds import Done
from floe_job.driver.slice_check import check
from floe_job.driver.slice_tables import SliceTables
from floe_job.driver.table_lookup import TableLookup
from floe_job.exceptions import RangeLost, TooManyDeadLetters
from floe_job.source.record_batch import RangePart
from tests.support.tables.lake import TOPIC, TOPIC_ID, Lake
from tests.support.tables.slices import make_plan

TP = TopicPartition(TOPIC, 0)
LOGS = {TP: PartitionLog(TP, TOPIC_ID, 0, 100)}


@pytest.fixture
def inputs(lake: Lake) -> SliceInputs:
    """Give what a slice of the offsets 10 to 20 was written with."""
    plan, connector = make_plan((0, 10, 20)), lake.connector(**{"floe.deadletter.max-ratio": "0.5"})
    settings = KafkaSettings.of(connector, {"bootstrap.servers": "127.0.0.1:1"})
    job = SliceJob(plan, plan.slices[0], connector, settings)
    return SliceInputs(job, SliceDeadLetters(), SliceTables(), (), cast("TableLookup", None))


def read(inputs: SliceInputs, counts: RangeCounts, first: int | None = 10) -> Done:
    """Return what one task read of the slice's range."""
    (r,) = inputs.job.slice.ranges
    return Done(SliceTables(), (TaskResult(0, (RangePartResult(RangePart(r, 10, 20), counts, first, None),)),))


TOMBSTONES = RangeCounts(tombstones=10)


def test_check_of_counts_that_add_up_returns_them(inputs: SliceInputs) -> None:
    checked = check(inputs, read(inputs, TOMBSTONES), LOGS)
    assert [(str(r), counts) for r, counts in checked.ranges] == [(f"{TOPIC}-0[10, 20)", TOMBSTONES)]
    assert (dict(checked.tables), checked.dead_letter_counts) == ({}, None)


def test_check_of_counts_that_do_not_add_up_fails(inputs: SliceInputs) -> None:
    with pytest.raises(CountsDoNotAddUp):
        check(inputs, read(inputs, RangeCounts(tombstones=9)), LOGS)


def test_check_of_recreated_topic_fails(inputs: SliceInputs) -> None:
    for logs in ({}, {TP: PartitionLog(TP, "T2", 0, 100)}):
        with pytest.raises(RangeLost, match="was re-created"):
            check(inputs, read(inputs, TOMBSTONES), logs)


@pytest.mark.parametrize(("first", "log_start"), [(12, 11), (None, 20)])
def test_check_of_gap_below_log_start_fails(inputs: SliceInputs, first: int | None, log_start: int) -> None:
    done = read(inputs, TOMBSTONES, first)
    with pytest.raises(RangeLost, match="begins with a gap"):
        check(inputs, done, {TP: PartitionLog(TP, TOPIC_ID, log_start, 100)})
    assert check(inputs, done, LOGS)


def test_check_of_too_many_dead_letters_fails(inputs: SliceInputs) -> None:
    check(inputs, read(inputs, RangeCounts(dead=5, dropped=5)), LOGS)
    with pytest.raises(TooManyDeadLetters):
        check(inputs, read(inputs, RangeCounts(dead=6, dropped=4)), LOGS)
