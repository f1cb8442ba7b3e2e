"""Making and opening plans. The broker is stood in for; the lake is real."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from floe.catalogs.client import Tables
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.control.wire.events import StartCommit
from floe.exceptions import Terminal
from floe.model.decisions import Decisions, Rollback
from floe.model.exceptions import PlanRefused, Superseded
from floe.model.intervals import Intervals
from floe.model.plan import Plan, Slice
from floe.model.positions import PartitionBacklog, Position, PositionMetadata
from floe.model.ranges import OffsetRange, TopicPartition
from floe.model.route_hash import route_hash, routing_hash
from floe.model.slice_kind import ReadReason, WriteModeName
from floe.planning.live_plan import draft_plan, open_plan
from floe.tables import connector_ledgers
from floe.tables.exceptions import TableRefused
from tests.support.kafka.fake_broker import Broker
from tests.support.keys import KEY
from tests.support.tables.lake import (
    CLUSTER,
    LEDGER,
    OTHER_TABLE,
    ROUTE,
    TABLE,
    TOPIC,
    TOPIC_ID,
    Lake,
    Written,
    append_foreign,
    expected,
    head,
    make_plan,
    roll_back,
)

Write = Callable[..., Written]
ROUTING = routing_hash({TABLE: route_hash(TOPIC, None)})
REPLAY, ACCEPT = ({TABLE: how} for how in (Rollback.REPLAY, Rollback.ACCEPT))


CREATES = {"iceberg.tables.auto-create-enabled": "true"}


def position(offset: int, partition: int = 0, **over: Any) -> Position:
    """Return a position; ``backlog``: where the backlog of the table begins."""
    start = over.pop("backlog", None)
    backlogs = {} if start is None else {TABLE: PartitionBacklog(start, ROUTE)}
    fields = {"routing": ROUTING, "since": 0, "topic_id": TOPIC_ID, "cluster_id": CLUSTER, "backlogs": backlogs, **over}
    fields.setdefault("owner", "pizzas")
    return Position(TopicPartition(TOPIC, partition), offset, PositionMetadata(**fields).encode())


@pytest.fixture
def broker(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Broker:
    """Give a cluster whose one partition has the offsets 0 to 100."""
    made = Broker(lake).log()
    made.stand_in(monkeypatch)
    return made


@pytest.fixture
def draft(lake: Lake, broker: Broker) -> Callable[..., Plan]:
    """Draft a plan; decisions by name, keys of the connector by ``keys``."""

    def make(keys: dict[str, str] | None = None, **decided: Any) -> Plan:
        how = {name: decided.pop(name) for name in ("max_records", "dry_run") if name in decided}
        decisions = Decisions(**decided) if decided else None
        return draft_plan(lake.connector(**CREATES, **(keys or {})), None, decisions=decisions, **how)  # type: ignore[arg-type]

    return make


@pytest.fixture
def opened(lake: Lake) -> Callable[[Plan], bool]:
    """Open a plan."""
    return lambda plan: open_plan(plan, lake.connector(), None, KEY.plan_key(plan.plan_id))  # type: ignore[arg-type]


def ranges(plan: Plan) -> list[tuple[str, list[str]]]:
    return [(s.kind, [str(r) for r in s.ranges]) for s in plan.slices]


# -- drafting ---------------------------------------------------------------------------------------------------------


def test_a_new_connector_is_planned_from_the_log_start(broker: Broker, draft: Callable[..., Plan]) -> None:
    plan = draft()
    assert ranges(plan) == [("live", [f"{TOPIC}-0[0, 100)"])]
    assert plan.slices[0].tables == (TABLE,)
    assert (plan.positions, plan.replaced, plan.decisions) == ((position(0),), (), {})
    assert plan.control_ends == {0: 3}
    assert broker.done == ["ensure control-iceberg", "refuse members"]


def test_a_dry_run_creates_nothing(broker: Broker, draft: Callable[..., Plan]) -> None:
    plan = draft(dry_run=True)
    assert broker.done == ["refuse members"]
    assert plan.control_ends == {}
    assert ranges(plan) == ranges(draft())


def test_the_limit_of_a_run_is_over_the_connectors(draft: Callable[..., Plan]) -> None:
    keys = {"floe.max-records-per-run": "30"}
    assert [s.records for s in draft(keys).slices] == [30]
    assert [s.records for s in draft(keys, max_records=7).slices] == [7]


def test_a_table_that_owes_is_planned_to_catch_up(broker: Broker, draft: Callable[..., Plan]) -> None:
    keys = {"iceberg.tables": f"{TABLE},{OTHER_TABLE}"}
    broker.has(
        position(90, backlog=70, routing=routing_hash(dict.fromkeys([TABLE, OTHER_TABLE], route_hash(TOPIC, None))))
    )
    plan = draft(keys)
    assert ranges(plan) == [("live", [f"{TOPIC}-0[90, 100)"]), ("catch-up", [f"{TOPIC}-0[70, 100)"])]
    assert plan.taken(plan.slices[0], TABLE) == ()


def test_lost_positions_are_recovered_from_the_tables(
    lake: Lake, write: Write, broker: Broker, draft: Callable[..., Plan]
) -> None:
    lake.create()
    write((0, 0, 60)).land()
    with pytest.raises(PlanRefused, match="positions were lost"):
        draft()
    plan = draft(recover=True)
    assert ranges(plan) == [("live", [f"{TOPIC}-0[60, 100)"])]
    assert plan.decisions == {"recover": True, "notes": [f"{TOPIC}-0: recovered at 60, as the tables tell"]}


def test_unopened_catalog_is_not_taken_for_lost_positions(
    draft: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector_ledgers, "Tables", Tables)
    with pytest.raises(CatalogMisconfigured, match=r"cannot be opened: Invalid truth value: 'x'"):
        draft({"iceberg.catalog.pool_pre_ping": "x"})


def test_unreadable_table_is_not_taken_for_lost_positions(lake: Lake, write: Write, draft: Callable[..., Plan]) -> None:
    lake.create()
    write((0, 0, 60)).land()
    with lake.of_others().transaction() as transaction:
        transaction.set_properties({LEDGER: "not ours"})
    with pytest.raises(PlanRefused, match=rf"could not read the tables \['{TABLE}'\].*`recover`"):
        draft()


def test_loss_is_accepted_by_decision_or_by_the_connector(broker: Broker, draft: Callable[..., Plan]) -> None:
    broker.has(position(5)).log(start=8)
    with pytest.raises(PlanRefused, match=r"lost the offsets \[5, 8\)"):
        draft()
    by_run, for_good = draft(accept_loss=frozenset({"*"})), draft({"floe.on-data-loss": "accept"})
    for plan in (by_run, for_good):
        assert plan.positions == (position(8, since=8, lost=Intervals(((5, 8),))),)
        assert plan.replaced == (position(5),)
        assert plan.decisions["notes"] == [f"{TOPIC}-0: the offsets [5, 8) (3) are lost, as was accepted"]
    assert by_run.decisions["accept_loss"] is True
    assert "accept_loss" not in for_good.decisions


def test_every_loss_is_on_record_however_many_there_are(broker: Broker, draft: Callable[..., Plan]) -> None:
    for p in range(205):
        broker.has(position(5, p)).log(p, start=8)
    assert len(draft(accept_loss=frozenset({"*"})).decisions["notes"]) == 205


def test_accepting_connector_records_nothing_without_losses(broker: Broker, draft: Callable[..., Plan]) -> None:
    broker.has(position(5)).log(start=0)
    assert draft({"floe.on-data-loss": "accept"}).decisions == {}


@pytest.mark.parametrize(
    ("decided", "match"),
    [
        ({"rolled_back": {"rpc.other": Rollback.REPLAY}}, r"rolled_back names \['rpc.other'\].*correct the param"),
        (
            {"accept_loss": frozenset({"drinks", TOPIC})},
            rf"accept_loss names \['drinks'\].*\['{TOPIC}'\].*true for all",
        ),
        ({"accept_loss": frozenset({f"{TOPIC}-7"})}, rf"accept_loss names \['{TOPIC}-7'\]"),
        ({"reset_topics": frozenset({"drinks", TOPIC})}, r"reset_topics names \['drinks'\].*correct the param"),
    ],
)
def test_names_that_the_connector_does_not_have_are_refused(
    draft: Callable[..., Plan], decided: dict[str, Any], match: str
) -> None:
    with pytest.raises(PlanRefused, match=match):
        draft(**decided)


def test_backlog_of_table_not_configured_any_more_may_be_dropped(broker: Broker, draft: Callable[..., Plan]) -> None:
    behind = replace(position(50), metadata=position(50, backlog=20).metadata.replace(TABLE, "rpc.gone"))
    broker.has(behind)
    with pytest.raises(PlanRefused, match="names it no longer"):
        draft()
    assert draft(drop_backlog=frozenset({"rpc.gone"})).positions == (position(50, since=50),)


def test_backlog_of_topic_not_read_any_more_is_refused(broker: Broker, draft: Callable[..., Plan]) -> None:
    elsewhere = replace(position(50, backlog=20), tp=TopicPartition("drinks", 3))
    broker.has(elsewhere)
    with pytest.raises(PlanRefused, match=r"\['rpc.pizzas'\] are behind on drinks-3.*put the topic back"):
        draft()
    broker.has(replace(elsewhere, metadata=position(50).metadata))
    assert ranges(draft()) == [("live", [f"{TOPIC}-0[0, 100)"])]


# -- rolled back ------------------------------------------------------------------------------------------------------


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
    assert write((0, 40, 50), plan_id="plan-2").table_files.counts.rows == 10


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
    with pytest.raises(PlanRefused, match=rf"lost offsets of topic '{TOPIC}', which the connector reads no longer"):
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


# -- adopted ----------------------------------------------------------------------------------------------------------


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
    assert write((0, 40, 60), plan_id="plan-2", since=40).table_files.counts.rows == 20


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


# -- opening ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def plan() -> Plan:
    """Give a plan of one live slice over [5, 9)."""
    made = make_plan((0, 5, 9))
    return replace(made, positions=(position(5),))


def test_plan_opens_with_event_and_positions_in_one_transaction(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    assert opened(plan)
    (moved,) = broker.moves
    assert moved.positions == [position(5)]
    assert moved.events == [StartCommit(plan.commit_id)]
    assert moved.headers == [{"floe-v": "1", "floe-slice": "plan-1/0", "floe-kind": "live"}]


def test_an_idle_plan_keeps_the_positions_alive_without_an_event(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    assert not opened(replace(plan, slices=()))
    (moved,) = broker.moves
    assert (moved.positions, moved.events) == ([position(5)], [])


def test_decision_is_recorded_even_when_nothing_is_to_be_read(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    assert not opened(replace(plan, slices=(), decisions={"forgive": [TABLE]}))
    (moved,) = broker.moves
    assert moved.events == [StartCommit(plan.commit_id)]
    assert json.loads(moved.headers[0]["floe-decisions"]) == {"forgive": [TABLE]}
    assert moved.headers[0]["floe-kind"] == "decision"


@pytest.mark.parametrize("found", [position(5), position(5, routing="older"), position(5, since=3)])
def test_position_that_plan_was_made_from_gets_plan_metadata(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool], found: Position
) -> None:
    broker.has(found)
    assert opened(replace(plan, replaced=(found,)))
    assert broker.moves[0].positions == [position(5)]


def test_opening_again_after_all_was_committed_does_nothing(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(9))
    assert not opened(plan)
    assert broker.moves == []


def test_position_moved_by_a_run_of_the_plan_is_not_moved_back(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    """One slice of two was committed, then the plan task is cleared."""
    second = Slice(1, ReadReason.LIVE, WriteModeName.APPEND, (OffsetRange(TOPIC, TOPIC_ID, 1, 0, 4),), (TABLE,))
    both = replace(plan, positions=(*plan.positions, position(0, 1)), slices=(*plan.slices, second))
    broker.has(position(9, lost=Intervals(((3, 5),))), position(0, 1))
    assert opened(both)
    assert broker.moves[0].positions == [position(9, lost=Intervals(((3, 5),))), position(0, 1)]


def test_a_plan_goes_back_where_a_decision_does(broker: Broker, plan: Plan, opened: Callable[[Plan], bool]) -> None:
    foreign = Position(TopicPartition(TOPIC, 0), 70, "by hand")
    broker.has(foreign)
    with pytest.raises(Superseded):
        opened(plan)
    assert opened(replace(plan, replaced=(foreign,)))
    assert broker.moves[0].positions == [position(5)]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(position(4), id="moved back"),
        pytest.param(Position(TopicPartition(TOPIC, 0), 5, "by hand"), id="written by somebody else"),
        pytest.param(Position(TopicPartition(TOPIC, 0), 50, ""), id="moved on by somebody else"),
        pytest.param(position(5, backlog=2), id="a debt that the plan does not know"),
        pytest.param(position(5, routing="other"), id="another routing"),
        pytest.param(position(5, since=3), id="a routing of another time"),
        pytest.param(position(5, topic_id="T2"), id="another topic"),
        pytest.param(position(50, topic_id="T2"), id="further on in another topic"),
    ],
)
def test_position_changed_by_others_supersedes_the_plan(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool], found: Position
) -> None:
    broker.has(found)
    with pytest.raises(Superseded, match=f"position of {TOPIC}-0 was changed since the plan was made") as caught:
        opened(plan)
    assert isinstance(caught.value, Terminal)
    assert broker.moves == []


def test_backlog_caught_up_in_part_is_not_enlarged_again(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    behind = replace(plan, positions=(position(5, backlog=1),))
    for left in (position(5, backlog=3), position(5)):
        broker.has(left)
        assert opened(behind)
        assert broker.moves[-1].positions == [left]


def test_backlog_beginning_below_the_plan_supersedes_it(
    broker: Broker, plan: Plan, opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(5, backlog=1))
    with pytest.raises(Superseded):
        opened(replace(plan, positions=(position(5, backlog=3),)))


def test_dropped_backlog_stays_dropped_when_plan_is_reopened(
    broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(50, backlog=20))
    plan = draft(drop_backlog=frozenset({TABLE}))
    for _ in range(2):
        assert opened(plan)
        assert broker.found[TopicPartition(TOPIC, 0)] == position(50, since=50)


def test_a_plan_thawed_from_its_json_opens_the_same(
    broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    broker.has(position(5)).log(start=8)
    plan = draft(accept_loss=frozenset({"*"}))
    assert opened(Plan.from_json(json.loads(json.dumps(plan.to_json()))))
    assert broker.moves[0].positions == list(plan.positions)
