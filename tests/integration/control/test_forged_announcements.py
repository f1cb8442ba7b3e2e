"""Write on the control topic, by others: what they announce is ignored, whatever it says and wherever it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from floe.commit import run_commit
from floe.control import announcement as announcement_module
from floe.control import announcement_reader
from floe.control.announcement import Announcement, TableAnnouncement, encode_announcement, next_offset
from floe.kafka.transactions import ControlRecord, TransactionalProducer
from floe.model.accounting import RangeCounts, TableCounts
from floe.model.plan import Plan
from floe.tables.exceptions import SliceNotWritten, SliceStale
from tests.support.kafka.forged import forge, sent
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids
from tests.support.runs.replays import replay

ROWS = 10
MANY = 10**12


def held(plan: Plan) -> Announcement:
    """Announce that the table has all rows of a plan already."""
    (slice_,) = plan.slices
    return Announcement(
        slice_id=plan.slice_id(slice_),
        commit_id=plan.commit_id,
        kind=slice_.kind,
        ranges=slice_.ranges,
        tables={"db.t": TableAnnouncement(TableCounts(assigned=slice_.records, held=slice_.records))},
        counts=tuple((r, RangeCounts(routed=len(r))) for r in slice_.ranges),
        assignments=tuple(next_offset(r, 1_704_164_645_123) for r in slice_.ranges),
    )


def again(plan: Plan, earlier: Announcement, **of_file: Any) -> Announcement:
    """Announce the file of an earlier run for a plan, changed in what it says of itself."""
    (slice_,) = plan.slices
    (table_files,) = earlier.files
    (spec,) = table_files.files
    (file,) = spec.files
    rows = of_file.get("record_count", file.record_count)
    counts = TableCounts(assigned=rows, rows=rows)
    new_ranges = tuple(
        (r, new_offsets.of([(r.start, r.end)]))
        for r, (_, new_offsets) in zip(slice_.ranges, table_files.new_ranges, strict=True)
    )
    forged = replace(table_files, files=(replace(spec, files=(replace(file, **of_file),)),), new_ranges=new_ranges)
    return replace(held(plan), tables={"db.t": TableAnnouncement(counts, forged)})


@pytest.fixture
def eaten(pipeline: MakePipeline) -> tuple[Pipeline, Announcement, Plan]:
    """A connector that ran once, what it announced, and the plan of what came since."""
    pizzas = pipeline(**{"tasks.max": 1})
    pizzas.produce(ids(0, ROWS))
    plan = pizzas.plan()
    (earlier,) = pizzas.write(plan)
    pizzas.commit(plan)
    pizzas.produce(ids(ROWS, 2 * ROWS))
    return pizzas, earlier, pizzas.plan()


FALSE_CLAIMS = {
    "the file once more": {},
    "bounds that hide all rows": {"lower_bounds": {1: (MANY).to_bytes(8, "little")}, "upper_bounds": None},
    "a million million rows": {"record_count": MANY},
}


@pytest.mark.parametrize("lie", FALSE_CLAIMS.values(), ids=FALSE_CLAIMS)
def test_forged_file_before_the_true_one_is_passed_by(
    eaten: tuple[Pipeline, Announcement, Plan], lie: dict[str, Any]
) -> None:
    pizzas, earlier, plan = eaten
    forge(pizzas, encode_announcement(plan, again(plan, earlier, **lie)))
    pizzas.write(plan)
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(2 * ROWS))
    assert pizzas.table().scan(row_filter="id >= 0 and id < 1000").to_arrow().num_rows == 2 * ROWS
    assert pizzas.position() == {0: 2 * ROWS}


def test_rows_said_to_be_held_are_not_lost(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 50))
    plan = pizzas.plan()
    forge(pizzas, encode_announcement(plan, held(plan)))
    with pytest.raises(SliceNotWritten):
        pizzas.committer(plan).commit([])
    assert pizzas.position() == {0: 0}
    pizzas.write(plan)
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(50))


def test_unsigned_plan_compares_what_is_held_with_the_ledger(pipeline: MakePipeline) -> None:
    pizzas = replace(pipeline(), deployment_key=None)
    pizzas.produce(ids(0, 50))
    pizzas.run()
    pizzas.produce(ids(50, 100))
    plan = pizzas.plan()
    forge(pizzas, encode_announcement(plan, held(plan)))
    with pytest.raises(SliceStale, match=r"not written to table 'db\.t'"):
        pizzas.commit(plan)
    assert pizzas.position() == {0: 50}
    pizzas.run()
    assert pizzas.column("id") == list(range(100))


def test_forged_record_between_parts_voids_nothing(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announcement_module, "MAX_EVENT_BYTES", 1)
    pizzas = pipeline(**{"iceberg.tables.default-partition-by": "id"})
    pizzas.produce(ids(0, 4))
    plan = pizzas.plan()

    def fill(self: TransactionalProducer, topic: str, key: str, records: Sequence[ControlRecord]) -> None:
        for record in records:
            forge(pizzas, [record._replace(value=record.value[:-1])])
            self._producer.produce(topic, value=record.value, key=key, headers=record.headers)
            assert self._producer.flush(30) == 0
            unsigned = [(name, value) for name, value in record.headers if name != "floe-mac"]
            forge(pizzas, [ControlRecord(record.value, unsigned)])

    with monkeypatch.context() as patch:
        patch.setattr(TransactionalProducer, "_fill", fill)
        (announced,) = pizzas.write(plan)
    assert announced.files[0].file_count == 4
    pizzas.commit(plan)
    assert pizzas.column("id") == list(range(4))


def test_copied_announcement_commits_once(pipeline: MakePipeline, topic: Callable[..., str]) -> None:
    pizzas = pipeline(**{"iceberg.control.topic": topic(2, "control")})
    pizzas.produce(ids(0, ROWS))
    plan = pizzas.plan()
    pizzas.write(plan)
    records = sent(pizzas, plan)
    for partition in (0, 1):
        forge(pizzas, records, partition)
        forge(pizzas, records[1:], partition)
    pizzas.commit(plan)
    forge(pizzas, records)
    pizzas.commit(plan)
    pizzas.produce(ids(ROWS, 2 * ROWS))
    later = pizzas.plan()
    forge(pizzas, records)
    other = [("floe-slice", later.slice_id(later.slices[0]))]
    forge(pizzas, [ControlRecord(r.value, [*r.headers, *other]) for r in records])
    pizzas.write(later)
    pizzas.commit(later)
    assert pizzas.column("id") == list(range(2 * ROWS))


def test_copied_announcement_of_a_replay_appends_once(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, ROWS))
    pizzas.run()
    plan = replay(pizzas, overlap="append")
    forge(pizzas, sent(pizzas, plan))
    pizzas.commit(plan)
    assert pizzas.column("id") == sorted([*range(ROWS), *range(ROWS)])


def test_plan_without_a_key_is_carried_out_unsigned(pipeline: MakePipeline) -> None:
    pizzas = replace(pipeline(), deployment_key=None)
    pizzas.produce(ids(0, ROWS))
    plan = pizzas.run()
    assert pizzas.column("id") == list(range(ROWS))
    assert not any(name == "floe-mac" for record in sent(pizzas, plan) for name, _ in record.headers)


def test_junk_is_read_once_and_not_decoded(pipeline: MakePipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, ROWS))
    plan = pizzas.plan()
    junk = encode_announcement(plan, held(plan)) * 2_000
    forge(pizzas, junk)
    pizzas.write(plan)
    forge(pizzas, junk)
    decoded: list[bytes] = []
    read: list[int] = []
    decode, read_topic = announcement_reader.decode, run_commit.read_control
    monkeypatch.setattr(announcement_reader, "decode", lambda value: decoded.append(value) or decode(value))
    monkeypatch.setattr(
        run_commit, "read_control", lambda *args: (read.append(m.offset) or m for m in read_topic(*args))
    )
    pizzas.commit(plan)
    assert len(decoded) == 2
    assert len(read) == len(set(read)) >= 4_000
    assert pizzas.column("id") == list(range(ROWS))
