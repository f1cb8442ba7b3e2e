"""Plans after a rollback, and on another log: what the operator decided is in the ledgers first."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from floe.model.decisions import Rollback
from floe.model.exceptions import PlanRefused, Superseded
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan
from floe.model.positions import PartitionBacklog
from floe.tables.exceptions import TableRefused
from tests.support.kafka.fake_broker import Broker
from tests.support.runs.live_plans import position, ranges
from tests.support.tables.foreign_changes import append_foreign, roll_back
from tests.support.tables.lake import ROUTE, TABLE, TOPIC, Lake, expected, head
from tests.support.tables.slices import Write

REPLAY, ACCEPT = ({TABLE: how} for how in (Rollback.REPLAY, Rollback.ACCEPT))


@pytest.fixture
def rolled_back(lake: Lake, write: Write, broker: Broker) -> Broker:
    """Let the table hold [0, 9), the position be 9, and the branch be set back to [0, 5)."""
    lake.create()
    first = write((0, 0, 5)).land()
    write((0, 5, 9), plan_id="plan-2").land()
    roll_back(lake, first.snapshot_id or 0)
    return broker.has(position(9))


def test_what_was_rolled_back_is_a_debt_that_is_caught_up(
    rolled_back: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    plan = draft(rolled_back=REPLAY)
    assert plan.positions == (position(9, backlog=5),)
    assert plan.replaced == (position(9),)
    assert ranges(plan) == [("catch-up", [f"{TOPIC}-0[5, 9)"])]
    assert plan.decisions["rolled_back"] == {TABLE: "replay"}
    assert opened(plan)
    assert rolled_back.moves[0].positions == [position(9, backlog=5)]
    assert "replay" in rolled_back.moves[0].headers[0]["floe-decisions"]


def test_ledger_drops_rolled_back_rows_and_they_are_read_once(
    lake: Lake, write: Write, rolled_back: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    opened(draft(rolled_back=REPLAY))
    assert lake.rows() == expected((0, 5))
    backlogs = {TABLE: PartitionBacklog(5, ROUTE)}
    write((0, 5, 9), plan_id="plan-3", kind="catch-up", backlogs=backlogs).land()
    assert lake.rows() == expected((0, 9))


def test_accepted_rollback_continues_from_where_table_is(
    lake: Lake, write: Write, rolled_back: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    plan = draft(rolled_back=ACCEPT)
    assert plan.positions == (position(9),)
    assert ranges(plan) == [("live", [f"{TOPIC}-0[9, 100)"])]
    with pytest.raises(TableRefused, match="rolled back"):
        write((0, 9, 12), plan_id="plan-3")
    opened(plan)
    assert not write((0, 5, 9), plan_id="plan-3").files
    write((0, 9, 12), plan_id="plan-3").land()
    assert lake.rows() == expected((0, 5), (9, 12))


def test_opening_it_again_amends_nothing_again(
    lake: Lake, rolled_back: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    plan = draft(rolled_back=REPLAY)
    opened(plan)
    before = lake.load().metadata_location
    opened(plan)
    assert lake.load().metadata_location == before


def test_rolled_back_rows_of_older_topic_are_no_backlog(
    lake: Lake, write: Write, broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    """Nothing of it can be read again; and its offsets are not those of the present topic."""
    lake.create()
    append_foreign(lake, 1)
    before = head(lake)
    write((0, 40, 50)).land()
    broker.log(topic_id="T0").has(position(60, topic_id="T0"))
    roll_back(lake, before)
    plan = draft(rolled_back=REPLAY)
    assert plan.positions == (position(60, topic_id="T0"),)
    assert opened(plan)
    assert write((0, 40, 50), plan_id="plan-2").counts.rows == 10


def test_table_rolled_back_further_meanwhile_is_checked_again(
    lake: Lake, write: Write, broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    lake.create()
    first, second = write((0, 0, 5)).land(), write((0, 5, 9), plan_id="plan-2").land()
    write((0, 9, 12), plan_id="plan-3").land()
    broker.has(position(12))
    roll_back(lake, second.snapshot_id or 0)
    plan = draft(rolled_back=REPLAY)
    roll_back(lake, first.snapshot_id or 0)
    with pytest.raises(Superseded, match=r'rolled back further.*rolled_back={"rpc.pizzas": "replay"}'):
        opened(plan)
    again = draft(rolled_back=REPLAY)
    assert again.positions == (position(12, backlog=5),)
    assert opened(again)


def test_rolled_back_rows_of_topic_not_read_any_more_are_refused(
    rolled_back: Broker, draft: Callable[..., Plan]
) -> None:
    rolled_back.partitions = [replace(log, tp=TopicPartition("drinks", 0)) for log in rolled_back.partitions]
    with pytest.raises(
        PlanRefused, match=rf"lost offsets of topic '{TOPIC}', which the connector does not read any more"
    ):
        draft({"topics": "drinks"}, rolled_back=REPLAY)


@pytest.mark.parametrize("decided", [REPLAY, ACCEPT])
def test_decision_does_not_cover_what_others_changed_since(
    lake: Lake,
    write: Write,
    rolled_back: Broker,
    draft: Callable[..., Plan],
    opened: Callable[[Plan], bool],
    decided: dict[str, Rollback],
) -> None:
    plan = draft(rolled_back=decided)
    opened(draft(rolled_back=ACCEPT))
    committed = write((0, 9, 12), plan_id="plan-3").land()
    write((0, 12, 15), plan_id="plan-4").land()
    roll_back(lake, committed.snapshot_id or 0)
    before = lake.load().metadata_location
    with pytest.raises(Superseded):
        opened(plan)
    assert lake.load().metadata_location == before


def test_rows_restored_before_the_decision_stay_in_ledger(
    lake: Lake, write: Write, rolled_back: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    """The owner takes the rollback back while the plan that replays it waits."""
    second = next(s.snapshot_id for s in lake.load().metadata.snapshots if s.parent_snapshot_id)
    plan = draft(rolled_back=REPLAY)
    roll_back(lake, second)
    opened(plan)
    written = write((0, 5, 9), plan_id="plan-3", kind="catch-up", backlogs={TABLE: PartitionBacklog(5, ROUTE)})
    assert written.files == ()
    assert lake.rows() == expected((0, 9))


def test_reset_cluster_is_in_tables_before_positions_move(
    lake: Lake, write: Write, broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    lake.create()
    write((0, 0, 5)).land()
    broker.has(position(5)).id = "C2"
    with pytest.raises(PlanRefused, match="belongs to cluster 'C1'"):
        draft()
    plan = draft(reset_topics=frozenset({"*"}))
    assert plan.positions == (position(5, cluster_id="C2"),)
    opened(plan)
    assert broker.moves[0].rows == expected((0, 5))
    assert '"cluster":"C2"' in lake.load().properties[f"floe.ledger.{plan.group_id}.main"]


@pytest.mark.parametrize("recovered", [False, True])
def test_offsets_reused_by_shortened_log_are_new_again(
    lake: Lake,
    write: Write,
    broker: Broker,
    draft: Callable[..., Plan],
    opened: Callable[[Plan], bool],
    recovered: bool,
) -> None:
    """Also when the position was lost with the log's end, and only the ledger knows how far it was read."""
    lake.create()
    write((0, 0, 50)).land()
    broker.log(end=40)
    if not recovered:
        broker.has(position(50))
    plan = draft(reset_topics=frozenset({TOPIC}), recover=recovered)
    assert plan.positions == (position(40, since=40),)
    opened(plan)
    assert write((0, 40, 60), plan_id="plan-2", since=40).counts.rows == 20


def test_reset_topic_leaves_the_ledger_of_the_old_one(
    lake: Lake, write: Write, broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    lake.create()
    write((0, 0, 50)).land()
    broker.has(position(50)).log(topic_id="T2")
    before = lake.load().metadata_location
    plan = draft(reset_topics=frozenset({TOPIC}))
    assert plan.positions == (position(0, topic_id="T2"),)
    opened(plan)
    assert lake.load().metadata_location == before
