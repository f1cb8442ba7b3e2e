"""The order of a commit: tables first, positions last. The broker is stood in for; the lake is real."""

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from floe.commit import committer as module
from floe.commit.committer import Committer
from floe.commit.exceptions import SliceNotWritten, TableRefused
from floe.control.announcement import Announcement
from floe.control.codec import decode
from floe.control.events import CommitComplete, CommitToTable
from floe.offsets.plan import Plan
from floe.offsets.position import Position
from floe.offsets.ranges import TopicPartition
from tests.unit.commit.lake import TABLE, Lake, Row, Written, expected

Write = Callable[..., Written]


class Broker:
    """What the committer sees of Kafka: positions, and what moved them, with the table's rows at that moment."""

    def __init__(self, lake: Lake, plan: Plan) -> None:
        self.lake = lake
        self.found = {p.tp: p for p in plan.positions}
        self.moves: list[tuple[list[int], list[Row], list[Any]]] = []

    def refuse_members(self, _group_id: str) -> None:
        return

    def positions(self, _group_id: str, _tps: Sequence[TopicPartition]) -> Mapping[TopicPartition, Position]:
        return self.found

    def move(self, _connector: Any, _settings: Any, positions: Sequence[Position], compare: Callable[..., Any]) -> bool:
        records = compare(self.found)
        if records is None:
            return False
        rows = self.lake.rows() if self.lake.catalog().table_exists(TABLE) else []
        self.moves.append(([p.offset for p in positions], rows, [decode(r.value).payload for r in records]))
        self.found = {p.tp: p for p in positions}
        return True


@pytest.fixture
def commit(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Committer, Broker]]:
    """Make a committer of a plan whose announcements were found."""

    def make(plan: Plan, announcements: dict[str, Announcement]) -> tuple[Committer, Broker]:
        broker = Broker(lake, plan)
        monkeypatch.setattr(module, "Cluster", SimpleNamespace(of_control=lambda _: broker))
        monkeypatch.setattr(module, "Tables", SimpleNamespace(of=lambda _: lake.tables()))
        monkeypatch.setattr(module, "move_positions", broker.move)
        monkeypatch.setattr(Committer, "announcements", lambda *_: announcements)
        return Committer(plan, lake.connector(), None), broker  # type: ignore[arg-type]

    return make


def test_positions_move_only_when_the_table_has_the_rows(lake: Lake, write: Write, commit: Callable[..., Any]) -> None:
    lake.create()
    written = write((0, 0, 5))
    committer, broker = commit(written.plan, {"plan-1/0": written.announcement})
    report = committer.commit(["plan-1/0"])
    ((offsets, rows, events),) = broker.moves
    assert (offsets, rows) == ([5], expected((0, 5)))
    assert [type(event) for event in events] == [CommitToTable, CommitComplete]
    assert events[0].snapshot_id == lake.load().metadata.current_snapshot_id == report.landed[0].snapshot_id


def test_a_commit_that_is_run_again_does_nothing(lake: Lake, write: Write, commit: Callable[..., Any]) -> None:
    lake.create()
    written = write((0, 0, 5))
    committer, broker = commit(written.plan, {"plan-1/0": written.announcement})
    committer.commit([])
    assert committer.commit([]).done
    assert len(broker.moves) == 1
    assert lake.rows() == expected((0, 5))


def test_a_run_that_died_after_the_table_and_before_the_position_is_finished_by_the_next_try(
    lake: Lake, write: Write, commit: Callable[..., Any]
) -> None:
    lake.create()
    written = write((0, 0, 5))
    written.land()
    committer, broker = commit(written.plan, {"plan-1/0": written.announcement})
    assert committer.commit([]).landed[0].already
    assert broker.moves[0][0] == [5]
    assert lake.rows() == expected((0, 5))


def test_the_position_stays_when_the_table_refuses(lake: Lake, write: Write, commit: Callable[..., Any]) -> None:
    lake.create()
    written = write((0, 0, 5))
    lake.catalog().drop_table(TABLE)
    committer, broker = commit(written.plan, {"plan-1/0": written.announcement})
    with pytest.raises(TableRefused):
        committer.commit([])
    assert broker.moves == []


def test_the_position_of_a_slice_that_was_not_written_stays(
    lake: Lake, write: Write, commit: Callable[..., Any]
) -> None:
    lake.create()
    committer, broker = commit(write((0, 0, 5)).plan, {})
    with pytest.raises(SliceNotWritten, match=r"completed-pizzas-0\[0, 5\)"):
        committer.commit([])
    assert broker.moves == []
    assert lake.rows() == []
