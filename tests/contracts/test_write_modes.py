"""What every write mode has to do, on a real table: all of ``MODES``, and one that floe does not ship."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from floe.commit.slice_commit import SliceCommitter, SliceOutcome
from floe.commit.table_commit import TableCommit, check_table, commit_table
from floe.config import Connector
from floe.control.data_files import SpecFiles, from_pyiceberg, partition_type_of
from floe.control.table_work import TableWork
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.ledger import CommitState, Ledger
from floe.model.offsets import Intervals, OffsetRange, ranges_to_json
from floe.model.plan import Plan, SliceKind
from floe.model.slice_scope import SliceScope
from floe.modes.append import AppendAgain
from floe.modes.dead_letters import DeadLetterMode
from floe.modes.write_mode import WriteMode
from floe.modes.write_modes import MODES, mode_of
from floe.parquet.table_writer import TableWriter
from floe.tables import lake as tables_lake
from floe.tables.exceptions import SliceStale
from floe.tables.lake import Lake as ConnectorLake
from floe.tables.table_state import TableState, ledger_of
from tests.support.fixtures import lake, short_waits
from tests.support.tables.lake import CLUSTER, ROUTE, TABLE, TOPIC, TOPIC_ID, Lake
from tests.support.tables.slices import make_announcement, make_plan, make_share
from tests.support.tables.wire import Wire, fails_first, once

__all__ = ["lake", "short_waits"]

KAFKA_COLUMNS = Schema(
    NestedField(1, "kafka_topic", StringType(), required=False),
    NestedField(2, "kafka_partition", IntegerType(), required=False),
    NestedField(3, "kafka_offset", LongType(), required=False),
)
META = {
    "transforms": "meta",
    "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
    "transforms.meta.field_name": "kafka",
}
LOG = LogId(TOPIC, TOPIC_ID, 0)
DEAD = DeadLetterOffsets({TABLE: {LOG: Intervals(((4, 5),))}})
"""Of the offsets 0 to 5 that the table contains at first, 4 is a dead letter and has no row."""


class EvenOffsets(AppendAgain):
    """A mode that floe does not ship: it appends every second record."""

    def wanted(self, state: TableState, scope: SliceScope, r: OffsetRange) -> Intervals:
        return Intervals.of((offset, offset + 1) for offset in range(r.start, r.end) if offset % 2 == 0)


@dataclass(frozen=True)
class Case:
    """One kind of slice: its range, the rows after it, and what another run does that makes it stale, if anything."""

    kind: str
    start: int
    end: int
    after: list[int]
    rival: Callable[[Stage], object] | None = None
    recovered: DeadLetterOffsets = field(default_factory=DeadLetterOffsets)


def recovers(stage: Stage) -> None:
    stage.commit(stage.written("redrive", 4, 5, plan_id="rival", dead_letters=DEAD, recovered=DEAD))


CASES = {
    "live": Case("live", 6, 9, [0, 1, 2, 3, 5, 6, 7, 8], lambda s: s.commit(s.written("live", 6, 8, plan_id="rival"))),
    "skip": Case("skip", 3, 9, [0, 1, 2, 3, 5, 6, 7, 8], lambda s: s.commit(s.written("live", 6, 8, plan_id="rival"))),
    "append": Case("append", 3, 6, [0, 1, 2, 3, 3, 4, 5, 5]),
    "replace": Case("replace", 3, 6, [0, 1, 2, 3, 4, 5], recovers),
    "redrive": Case("redrive", 4, 5, [0, 1, 2, 3, 4, 5], recovers, DEAD),
    "even": Case("skip", 3, 9, [0, 1, 2, 3, 4, 5, 6, 8]),
}


@dataclass
class Stage:
    """A table with rows, and slices that are written for it as its mode wants them."""

    lake: Lake
    case: Case

    @property
    def connector(self) -> Connector:
        return self.lake.connector(**META)

    def written(
        self,
        kind: str,
        start: int,
        end: int,
        plan_id: str = "plan-2",
        dead_letters: DeadLetterOffsets | None = None,
        recovered: DeadLetterOffsets | None = None,
    ) -> TableWork:
        """Write a slice as the driver does: the offsets that the mode wants, each of them a row."""
        plan = make_plan((0, start, end), plan_id=plan_id, kind=kind)
        slice_ = replace(plan.slices[0], dead_letters=dead_letters or DeadLetterOffsets())
        plan = replace(plan, slices=(slice_,))
        table, scope = self.lake.load(), SliceScope(plan, slice_)
        mode, state = mode_of(scope, TABLE), self.state()
        new_ranges = [(r, mode.wanted(state, scope, r)) for r in slice_.ranges]
        table_files = make_share(table, new_ranges, write_rows(table, new_ranges))
        seen = {LOG: state.ledger.recovered(slice_.ranges[0])} if mode.names_dead_letters else {}
        announcement = make_announcement(plan, replace(table_files, seen=seen))
        announcement = replace(announcement, recovered=recovered or DeadLetterOffsets())
        return TableWork(scope, announcement, announcement.files[0])

    def work(self, plan_id: str = "plan-2") -> TableWork:
        case = self.case
        return self.written(case.kind, case.start, case.end, plan_id, case.recovered, case.recovered)

    def commit(self, work: TableWork, catalog: Catalog | None = None) -> TableCommit:
        return commit_table(self.opened(catalog), work, 5)

    def opened(self, catalog: Catalog | None = None) -> ConnectorLake:
        return replace(self.lake.opened(catalog), connector=self.connector)

    def state(self) -> TableState:
        return self.opened().state(TABLE, {TOPIC}, must_exist=True)

    def ledger(self, plan: Plan) -> Ledger:
        return ledger_of(self.lake.load(), "main", plan)

    def offsets(self) -> list[int]:
        return sorted(self.lake.load().scan().to_arrow()["kafka_offset"].to_pylist())

    def snapshots(self) -> int:
        return len(self.lake.load().metadata.snapshots)


def write_rows(table: Table, new_ranges: Sequence[tuple[OffsetRange, Intervals]]) -> tuple[SpecFiles, ...]:
    rows = [
        {"kafka_topic": TOPIC, "kafka_partition": r.partition, "kafka_offset": offset}
        for r, new_offsets in new_ranges
        for start, end in new_offsets
        for offset in range(start, end)
    ]
    writer = TableWriter(table.metadata, table.io, table.schema(), table.spec(), table.properties, "test")
    writer.write(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())))
    partition_type = partition_type_of(table.spec(), table.schema())
    return (SpecFiles(0, partition_type, tuple(from_pyiceberg(f, partition_type, 0) for f in writer.close())),)


def own_mode_of(work: TableWork) -> WriteMode:
    return mode_of(work.scope, work.table)


@pytest.fixture
def own_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tables get the rows of a kind of slice by the mode that floe does not ship."""
    monkeypatch.setitem(MODES, SliceKind.SKIP, EvenOffsets())


@pytest.fixture(params=CASES)
def stage(request: pytest.FixtureRequest, lake: Lake) -> Stage:
    """Give a table that contains the offsets 0 to 5; of 4 it has no row."""
    if request.param == "even":
        request.getfixturevalue("own_mode")
    lake.create(schema=KAFKA_COLUMNS)
    made = Stage(lake, CASES[request.param])
    plan = make_plan((0, 0, 6), plan_id="plan-1")
    (r,) = plan.slices[0].ranges
    table_files = make_share(lake.load(), [(r, Intervals(((0, 6),)))], ())
    table_files = replace(table_files, files=write_rows(lake.load(), [(r, Intervals(((0, 4), (5, 6))))]))
    made.commit(TableWork.of(plan, make_announcement(plan, table_files), table_files))
    assert made.offsets() == [0, 1, 2, 3, 5]
    return made


# -- the suite --------------------------------------------------------------------------------------------------------


def test_mode_accepts_the_table_that_it_writes_to(stage: Stage) -> None:
    work = stage.work()
    own_mode_of(work).check(stage.state(), work.scope, stage.connector)
    assert not check_table(stage.opened(), work, 1)


def test_mode_commits_its_rows_once_however_often_it_is_asked(stage: Stage) -> None:
    work = stage.work()
    first = stage.commit(work)
    snapshots = stage.snapshots()
    again = stage.commit(work)
    assert (first.already, again.already, again.snapshot_id) == (False, True, first.snapshot_id)
    assert (stage.offsets(), stage.snapshots()) == (stage.case.after, snapshots)


def test_mode_knows_a_cleared_run_that_wrote_other_files(stage: Stage) -> None:
    first, repeated = stage.work(), stage.work()
    stage.commit(first)
    assert repeated.files.files != first.files.files
    assert stage.commit(repeated).already
    assert stage.offsets() == stage.case.after


def test_mode_refuses_what_another_run_made_stale(stage: Stage) -> None:
    work = stage.work()
    if stage.case.rival is None:
        assert own_mode_of(work).state(stage.ledger(work.plan), work) is CommitState.PENDING
        return
    stage.case.rival(stage)
    before = stage.offsets(), stage.snapshots()
    with pytest.raises(SliceStale, match=r"another run .* Nothing of .* was committed.*(plans|Trigger)"):
        stage.commit(work)
    assert (stage.offsets(), stage.snapshots()) == before


def test_mode_commits_once_when_the_answer_is_lost(stage: Stage) -> None:
    catalog = stage.lake.catalog()
    wire = Wire(catalog, after=fails_first(ConnectionError("reset")))
    committed = stage.commit(stage.work(), catalog)
    assert (committed.already, wire.sent) == (True, 1)
    assert stage.offsets() == stage.case.after


def test_mode_commits_after_a_concurrent_commit(stage: Stage) -> None:
    work = stage.work()
    other = stage.written("append", 20, 22, plan_id="concurrent")
    catalog = stage.lake.catalog()
    wire = Wire(catalog, before=once(lambda: stage.commit(other)))
    assert not stage.commit(work, catalog).already
    assert wire.sent == 2
    assert stage.offsets() == [*stage.case.after, 20, 21]


def test_mode_ledger_after_contains_the_slice(stage: Stage) -> None:
    work = stage.work()
    mode, before = own_mode_of(work), stage.ledger(work.plan)
    after = mode.ledger_after(before, work)
    assert mode.state(before, work) is CommitState.PENDING
    assert mode.state(after, work) is CommitState.COMMITTED
    stage.commit(work)
    stored = stage.ledger(work.plan)
    assert replace(stored, anchor=None) == replace(after, anchor=None)
    (r,) = work.slice.ranges
    assert stored.held(r, ROUTE) == Intervals(((r.start, r.end),))
    assert stored.recovered(r) == work.recovered.get(LOG, Intervals())


def test_mode_summary_says_what_is_new_and_counts(stage: Stage) -> None:
    work = stage.work()
    before = stage.ledger(work.plan)
    stage.commit(work)
    snapshot = stage.lake.load().current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    said = snapshot.summary.additional_properties
    (r,) = work.slice.ranges
    (new_offsets,) = (new_offsets for _, new_offsets in work.files.new_ranges)
    gained = (new_offsets - own_mode_of(work).contained(before, r, ROUTE)) | work.recovered.get(LOG, Intervals())
    assert said["floe.kind"] == stage.case.kind
    assert said["floe.net"] == json_of(OffsetRange(*LOG, *span) for span in gained)
    assert int(said["added-records"]) - int(said.get("deleted-records", 0)) == len(stage.case.after) - 5
    assert set(own_mode_of(work).summary(work)) <= set(said)


def json_of(ranges: Iterable[OffsetRange]) -> str:
    return json.dumps(ranges_to_json(ranges), separators=(",", ":"))


def test_dead_letters_beside_a_mode_are_known_by_their_slice(stage: Stage) -> None:
    work = stage.work()
    mode = DeadLetterMode(own_mode_of(work))
    ledger = Ledger(CLUSTER)
    new_ranges = tuple((r, ledger.new_offsets(r, ROUTE)) for r in work.slice.ranges)
    dead_letters = replace(work, files=replace(work.files, new_ranges=new_ranges))
    after = mode.ledger_after(ledger, dead_letters)
    assert (mode.state(ledger, dead_letters), mode.state(after, dead_letters)) == (
        CommitState.PENDING,
        CommitState.COMMITTED,
    )
    late = replace(dead_letters, scope=replace(dead_letters.scope, plan=replace(dead_letters.plan, plan_id="plan-0")))
    assert mode.state(after, late) is CommitState.STALE
    assert "floe.replaced" not in mode.summary(dead_letters)


# -- the registry -----------------------------------------------------------------------------------------------------


def test_registry_has_a_mode_for_every_kind_of_slice() -> None:
    assert MODES.keys() == set(SliceKind)
    assert {case.kind for case in CASES.values()} == set(SliceKind) - {SliceKind.CATCH_UP}


def test_own_mode_goes_through_the_commit_of_a_slice(
    lake: Lake, own_mode: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create(schema=KAFKA_COLUMNS)
    work = Stage(lake, CASES["even"]).work()
    plan = Plan.from_json(work.plan.to_json())
    assert plan == work.plan
    monkeypatch.setattr(tables_lake, "CatalogClient", SimpleNamespace(of=lambda _: lake.tables()))
    for already in (False, True):
        outcome: SliceOutcome = SliceCommitter(plan, lake.connector()).commit(plan.slices[0], work.announcement)
        assert ([one.already for one in outcome.committed], outcome.is_done, outcome.errors) == ([already], True, ())
    assert Counter(lake.load().scan().to_arrow()["kafka_offset"].to_pylist()) == Counter([4, 6, 8])
