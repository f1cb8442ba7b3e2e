"""The order of a commit: tables first, positions last. The broker is stood in for; the lake is real."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from floe.catalogs.exceptions import CommitAltered
from floe.commit.run_commit import Committer
from floe.commit.slice_commit import SliceOutcome
from floe.control.announcement import Announcement
from floe.control.wire.events import CommitComplete, CommitToTable
from floe.exceptions import Terminal
from floe.model.exceptions import Superseded
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan
from floe.model.positions import PartitionBacklog, Position, PositionMetadata
from floe.tables.exceptions import (
    AnnouncementVoid,
    ReplayIncomplete,
    SliceNotWritten,
    SliceStale,
    TableNotCommitted,
    TableRefused,
    TablesBehind,
)
from tests.support.kafka.fake_broker import Broker
from tests.support.keys import KEY
from tests.support.tables.lake import CLUSTER, OTHER_TABLE, ROUTE, TABLE, TOPIC, TOPIC_ID, Lake, expected
from tests.support.tables.slices import Write, Written, make_announcement, with_files, write_share
from tests.support.tables.unfaithful import alter_loads, without_ledger

Commit = Callable[..., tuple[Committer, Broker]]

BOTH = (TABLE, OTHER_TABLE)


@pytest.fixture
def commit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Commit:
    """Make a committer of a plan whose announcements were found."""

    def make(plan: Plan, announcements: dict[str, Announcement], **keys: str) -> tuple[Committer, Broker]:
        broker = Broker(lake).has(*plan.positions)
        broker.stand_in(monkeypatch)
        monkeypatch.setattr(Committer, "announcements", lambda *_: announcements)
        return Committer.open(plan, lake.connector(**keys), None, KEY.plan_key(plan.plan_id)), broker  # type: ignore[arg-type]

    return make


def of_one(written: Written) -> tuple[Plan, dict[str, Announcement]]:
    return written.plan, {written.announcement.slice_id: written.announcement}


def of_all(lake: Lake, *written: Written) -> tuple[Plan, dict[str, Announcement]]:
    """Put the slices of several plans into one, each with its announcement, written again for it."""
    first = written[0].plan
    slices = tuple(replace(w.plan.slices[0], index=i) for i, w in enumerate(written))
    plan = replace(first, slices=slices)
    announcements = {}
    for slice_ in slices:
        one = replace(plan, slices=(slice_,))
        all_table_files = [write_share(lake, one, table) for table in slice_.tables]
        announcements[plan.slice_id(slice_)] = make_announcement(one, *all_table_files)
    return plan, announcements


def position(offset: int, **backlogs: int) -> Position:
    backlog = {f"rpc.{table}": PartitionBacklog(start, ROUTE) for table, start in backlogs.items()}
    metadata = PositionMetadata("routing", 0, TOPIC_ID, CLUSTER, backlogs=backlog)
    return Position(TopicPartition(TOPIC, 0), offset, metadata.encode())


def test_positions_move_only_when_the_table_has_the_rows(lake: Lake, write: Write, commit: Commit) -> None:
    lake.create()
    written = write((0, 0, 5))
    committer, broker = commit(*of_one(written))
    report = committer.commit(["plan-1/0"])
    (moved,) = broker.moves
    assert (moved.offsets, moved.rows) == ([5], expected((0, 5)))
    assert [type(event) for event in moved.events] == [CommitToTable, CommitComplete]
    assert moved.events[0].snapshot_id == lake.load().metadata.current_snapshot_id == report.committed[0].snapshot_id


def test_earlier_committers_are_fenced_before_positions_are_read(
    lake: Lake, write: Write, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that died in its transaction would keep them unreadable until that times out."""
    lake.create()
    committer, broker = commit(*of_one(write((0, 0, 5))))
    done: list[str] = []
    positions = broker.positions
    monkeypatch.setattr(broker, "fence", lambda: done.append("fence"))
    monkeypatch.setattr(broker, "positions", lambda *asked: done.append("positions") or positions(*asked))
    committer.commit(["plan-1/0"])
    assert done[:2] == ["fence", "positions"]


def test_a_commit_that_is_run_again_does_nothing(lake: Lake, write: Write, commit: Commit) -> None:
    lake.create()
    committer, broker = commit(*of_one(write((0, 0, 5))))
    committer.commit([])
    assert committer.commit([]).done
    assert len(broker.moves) == 1
    assert lake.rows() == expected((0, 5))


def test_run_killed_between_table_and_position_is_completed(lake: Lake, write: Write, commit: Commit) -> None:
    lake.create()
    written = write((0, 0, 5))
    written.land()
    committer, broker = commit(*of_one(written))
    assert committer.commit([]).committed[0].already
    assert broker.moves[0].offsets == [5]
    assert lake.rows() == expected((0, 5))


def test_the_position_stays_when_the_only_table_refuses(lake: Lake, write: Write, commit: Commit) -> None:
    lake.create()
    written = write((0, 0, 5))
    lake.catalog().drop_table(TABLE)
    committer, broker = commit(*of_one(written))
    with pytest.raises(TableRefused):
        committer.commit([])
    assert broker.moves == []


def test_position_stays_when_the_catalog_alters_a_commit(
    lake: Lake, write: Write, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in BOTH:
        lake.create(name=name)
    committer, broker = commit(*of_one(write((0, 0, 5))), **{"iceberg.tables": ",".join(BOTH)})
    with monkeypatch.context() as patches:
        alter_loads(patches, without_ledger)
        with pytest.raises(CommitAltered, match="No offset was committed"):
            committer.commit([])
    assert broker.moves == []


def test_the_position_of_a_slice_that_was_not_written_stays(lake: Lake, write: Write, commit: Commit) -> None:
    lake.create()
    committer, broker = commit(write((0, 0, 5)).plan, {})
    with pytest.raises(SliceNotWritten, match=r"completed-pizzas-0\[0, 5\)"):
        committer.commit([])
    assert broker.moves == []
    assert lake.rows() == []


def test_positions_that_others_moved_are_not_overwritten(
    lake: Lake, write: Write, commit: Commit, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create()
    written = write((0, 0, 5))
    committer, broker = commit(*of_one(written))
    monkeypatch.setattr(committer, "open_slices", lambda: written.plan.slices)
    broker.has(position(7))
    committer.commit([])
    assert broker.moves == []
    broker.has(position(3))
    with pytest.raises(Superseded):
        committer.commit([])
    assert broker.moves == []


def test_positions_of_unread_partitions_are_left_as_they_are(lake: Lake, write: Write, commit: Commit) -> None:
    """One may have been set back meanwhile, on purpose: writing it as the plan had it would undo that."""
    lake.create()
    plan, announcements = of_one(write((0, 0, 5)))
    idle = Position(TopicPartition(TOPIC, 1), 20, plan.positions[0].metadata)
    committer, broker = commit(replace(plan, positions=(*plan.positions, idle)), announcements)
    broker.has(replace(idle, offset=7))
    committer.commit([])
    assert broker.moves[0].offsets == [5, 7]


# -- several tables ---------------------------------------------------------------------------------------------------


def test_refusing_table_gets_a_backlog_when_others_commit(lake: Lake, write: Write, commit: Commit) -> None:
    for name in BOTH:
        lake.create(name=name)
    written = write((0, 0, 5), tables=BOTH)
    lake.replace(OTHER_TABLE)
    committer, broker = commit(*of_one(written))
    match = (
        r"table 'rpc\.audit' is behind on 1 partition\(s\): completed-pizzas-0\[0, 5\), .*was replaced.*drop_backlog="
    )
    with pytest.raises(TablesBehind, match=match) as caught:
        committer.commit([])
    assert isinstance(caught.value, Terminal)
    (moved,) = broker.moves
    assert moved.positions == [position(5, audit=0)]
    assert [e.table_reference.name for e in moved.events if isinstance(e, CommitToTable)] == ["pizzas"]
    assert lake.rows() == expected((0, 5))


def test_a_commit_that_is_run_again_stays_red_while_a_table_owes(lake: Lake, write: Write, commit: Commit) -> None:
    for name in BOTH:
        lake.create(name=name)
    written = write((0, 0, 5), tables=BOTH)
    lake.replace(OTHER_TABLE)
    committer, broker = commit(*of_one(written))
    for _ in range(2):
        with pytest.raises(TablesBehind, match=r'drop_backlog=\["rpc.audit"\]'):
            committer.commit([])
    assert len(broker.moves) == 1


def test_all_tables_refusing_makes_no_backlog_and_keeps_position(lake: Lake, write: Write, commit: Commit) -> None:
    for name in BOTH:
        lake.create(name=name)
    written = write((0, 0, 5), tables=BOTH)
    for name in BOTH:
        lake.replace(name)
    committer, broker = commit(*of_one(written))
    with pytest.raises(TableRefused):
        committer.commit([])
    assert broker.moves == []


def test_retryable_error_is_raised_before_a_terminal_one(lake: Lake, write: Write, commit: Commit) -> None:
    """Else the task would not be tried again."""
    for name in BOTH:
        lake.create(name=name)
    committer, _ = commit(*of_one(write((0, 0, 5), tables=BOTH)))
    stale, unreachable = SliceStale("stale"), TableNotCommitted("later")

    def fails(*_: object) -> SliceOutcome:
        return SliceOutcome(errors=(stale, unreachable))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("floe.commit.slice_commit.SliceCommitter.commit", fails)
        with pytest.raises(TableNotCommitted):
            committer.commit([])


# -- catching up ------------------------------------------------------------------------------------------------------


@pytest.fixture
def behind(lake: Lake, write: Write) -> Written:
    """Let the other table have offsets up to 3, and this one up to 6; give the slice that catches up."""
    for name in BOTH:
        lake.create(name=name)
    write((0, 0, 6)).land()
    write((0, 0, 3), tables=(OTHER_TABLE,), plan_id="plan-0").land()
    return write((0, 3, 6), tables=(OTHER_TABLE,), kind="catch-up")


def test_a_debt_is_gone_when_the_table_caught_up(lake: Lake, behind: Written, commit: Commit) -> None:
    plan, announcements = of_one(behind)
    plan = replace(plan, positions=(position(6, audit=3),))
    committer, broker = commit(plan, announcements)
    committer.commit([])
    assert broker.moves[0].positions == [position(6)]
    assert lake.rows(name=OTHER_TABLE) == expected((0, 6))
    assert committer.commit([]).done


def test_live_and_catch_up_slices_move_a_partition_together(
    lake: Lake, write: Write, behind: Written, commit: Commit
) -> None:
    live = write((0, 6, 9), tables=BOTH, backlogs=position(6, audit=3).backlogs)
    whole = replace(behind.plan.slices[0], ranges=(replace(behind.plan.slices[0].ranges[0], end=9),))
    plan, announcements = of_all(lake, live, replace(behind, plan=replace(behind.plan, slices=(whole,))))
    committer, broker = commit(plan, announcements)
    committer.commit([])
    assert broker.moves[0].positions == [position(9)]
    assert lake.rows() == lake.rows(name=OTHER_TABLE) == expected((0, 9))


def test_catch_up_beside_failed_live_slice_clears_the_backlog(
    lake: Lake, write: Write, behind: Written, commit: Commit
) -> None:
    live = write((0, 6, 9), tables=BOTH, backlogs=position(6, audit=3).backlogs)
    whole = replace(behind.plan.slices[0], ranges=(replace(behind.plan.slices[0].ranges[0], end=9),))
    plan, announcements = of_all(lake, live, replace(behind, plan=replace(behind.plan, slices=(whole,))))
    del announcements["plan-1/0"]
    committer, broker = commit(plan, announcements)
    with pytest.raises(SliceNotWritten, match=r"completed-pizzas-0\[6, 9\)"):
        committer.commit([])
    assert broker.moves[0].positions == [position(6)]
    assert lake.rows() == expected((0, 6))
    again = write((0, 6, 12), tables=BOTH, plan_id="plan-2")
    committer, broker = commit(*of_one(again))
    committer.commit([])
    assert lake.rows() == lake.rows(name=OTHER_TABLE) == expected((0, 12))


@pytest.mark.parametrize("announced", [True, False])
def test_table_that_still_refuses_keeps_its_backlog(
    lake: Lake, write: Write, behind: Written, commit: Commit, announced: bool
) -> None:
    live = write((0, 6, 9), tables=BOTH, backlogs=position(6, audit=3).backlogs)
    plan, announcements = of_all(lake, live, behind)
    lake.replace(OTHER_TABLE)
    if not announced:
        del announcements["plan-1/1"]
    committer, broker = commit(plan, announcements)
    with pytest.raises(TablesBehind, match=r"'rpc\.audit' is behind.*completed-pizzas-0\[3, 9\)"):
        committer.commit([])
    assert broker.moves[0].positions == [position(9, audit=3)]
    assert lake.rows() == expected((0, 9))


# -- replays ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def replay(lake: Lake, write: Write) -> tuple[Plan, dict[str, Announcement]]:
    """Give a replay of three slices that are all announced."""
    lake.create()
    return of_all(lake, *(write((0, 3 * i, 3 * i + 3), kind="append", index=i) for i in range(3)))


def test_a_replay_lands_in_order_and_moves_no_position(
    lake: Lake, replay: tuple[Plan, dict[str, Announcement]], commit: Commit
) -> None:
    committer, broker = commit(*replay)
    committer.commit([])
    assert lake.rows() == expected((0, 9))
    assert broker.done == ["send"]
    assert [type(event) for event in broker.moves[0].events] == [*[CommitToTable] * 3, CommitComplete]
    committer.commit([])
    assert lake.rows() == expected((0, 9))


def test_a_replays_slices_behind_one_that_was_not_written_wait(
    lake: Lake, replay: tuple[Plan, dict[str, Announcement]], commit: Commit
) -> None:
    plan, announcements = replay
    first = {"plan-1/0": announcements["plan-1/0"], "plan-1/2": announcements["plan-1/2"]}
    committer, _ = commit(plan, first)
    with pytest.raises(SliceNotWritten, match="Clear the write task of this run"):
        committer.commit([])
    assert lake.rows() == expected((0, 3))
    commit(plan, announcements)[0].commit([])
    assert lake.rows() == expected((0, 9))


def test_a_replays_slices_behind_one_that_did_not_land_wait(
    lake: Lake, replay: tuple[Plan, dict[str, Announcement]], commit: Commit
) -> None:
    """A later slice on record would make the table take the earlier one for landed."""
    plan, announcements = replay
    second = announcements["plan-1/1"]
    (table_files,) = second.files
    (files,) = table_files.files
    gone = replace(files, files=(replace(files.files[0], file_path=f"{files.files[0].file_path}-gone"),))
    void = with_files(second, replace(table_files, files=(gone,)))
    committer, _ = commit(plan, announcements | {"plan-1/1": void})
    with pytest.raises(AnnouncementVoid):
        committer.commit([])
    assert lake.rows() == expected((0, 3))
    commit(plan, announcements)[0].commit([])
    assert lake.rows() == expected((0, 9))


def test_replay_goes_on_without_a_refusing_table(lake: Lake, write: Write, commit: Commit) -> None:
    for name in BOTH:
        lake.create(name=name)
    parts = (write((0, 3 * i, 3 * i + 3), kind="append", index=i, tables=BOTH) for i in range(3))
    plan, announcements = of_all(lake, *parts)
    lake.replace(OTHER_TABLE)
    committer, broker = commit(plan, announcements, **{"iceberg.tables": ",".join(BOTH)})
    with pytest.raises(ReplayIncomplete) as error:
        committer.commit([], None, {"branch": "audit", "overlap": "append", "max_records": None})
    assert lake.rows() == expected((0, 9))
    assert lake.rows(name=OTHER_TABLE) == []
    assert [type(event) for event in broker.moves[0].events] == [*[CommitToTable] * 3, CommitComplete]
    message = str(error.value)
    assert re.search(rf"table '{OTHER_TABLE}' got nothing of {TOPIC}-0\[0, 9\), because .*was replaced", message)
    assert f"was committed to {TABLE!r} (9 rows)" in message
    assert (
        f'with {{"topic": "{TOPIC}", "ranges": {{"0": [0, 9]}}, "tables": ["{OTHER_TABLE}"], "overlap": "append", '
        '"branch": "audit"}. Do not clear this run' in message
    )


def test_a_replay_does_not_mind_what_other_runs_owe(
    lake: Lake, replay: tuple[Plan, dict[str, Announcement]], commit: Commit
) -> None:
    committer, broker = commit(*replay)
    broker.has(position(50, audit=3))
    committer.commit([])
    assert lake.rows() == expected((0, 9))
