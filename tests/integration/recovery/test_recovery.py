"""The way out of each refusal: recover, accept, adopt, rolled back; and nothing lost or doubled by it."""

from __future__ import annotations

import json

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient

from floe.model.exceptions import PlanRefused
from floe.model.ledger_codec import property_name, read_properties
from floe.model.positions import PositionMetadata
from floe.tables.exceptions import TableRefused, TablesBehind
from tests.support.runs.mishaps import commit_as, delete_group, recreate, roll_back, run_to_the_end, snapshot_ids
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids
from tests.support.runs.replays import replay


def delete_records(pizzas: Pipeline, admin: AdminClient, before: int, partition: int = 0) -> None:
    at = ck.TopicPartition(pizzas.topic, partition, before)
    admin.delete_records([at])[at].result(30)


def set_property(pizzas: Pipeline, table: str, name: str, value: str) -> None:
    with pizzas.table(table).transaction() as change:
        change.set_properties({name: value})


# -- recover ----------------------------------------------------------------------------------------------------------


def test_a_deleted_group_is_recovered_from_the_tables(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(2)
    for start in (0, 100, 200):
        pizzas.produce(ids(start, start + 100))
        pizzas.run()
    delete_group(pizzas, admin)
    pizzas.produce(ids(300, 350))
    with pytest.raises(PlanRefused, match="`recover`"):
        pizzas.plan()
    plan = pizzas.run(recover=True)
    assert sum(len(r) for s in plan.slices for r in s.ranges) == 50  # what the tables hold is not read again
    assert pizzas.column("id") == list(range(350))
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(350))


def test_a_position_that_somebody_else_wrote_is_recovered(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 100))
    pizzas.run()
    commit_as(pizzas, 500, "mine")
    pizzas.produce(ids(100, 120))
    with pytest.raises(PlanRefused, match="not written by floe"):
        pizzas.plan()
    pizzas.run(recover=True)
    assert pizzas.column("id") == list(range(120))
    commit_as(pizzas, 3, None)
    pizzas.run(recover=True)
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(120))


def test_recovering_a_group_of_a_table_that_owes_loses_no_debt(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(**{"iceberg.tables": "db.t, db.other"})
    name = property_name(pizzas.connector.group_id, "main")
    pizzas.produce(ids(0, 50))
    pizzas.run()
    ledger = pizzas.table("db.other").metadata.properties[name]
    set_property(pizzas, "db.other", name, "broken")
    for start, end in ((50, 100), (100, 130)):
        pizzas.produce(ids(start, end))
        plan = pizzas.plan()
        pizzas.try_write(plan)
        with pytest.raises(TablesBehind, match="not a ledger"):
            pizzas.committer(plan).commit([plan.slice_id(plan.slices[0])])
    set_property(pizzas, "db.other", name, ledger)
    delete_group(pizzas, admin)
    pizzas.run(recover=True)
    run_to_the_end(pizzas)
    assert pizzas.column("id") == pizzas.column("id", "db.other") == list(range(130))


# -- accepted losses --------------------------------------------------------------------------------------------------


def test_an_accepted_loss_stands_in_the_books_and_the_snapshot(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 100), partition=0)
    pizzas.produce(ids(1000, 1010), partition=1)
    pizzas.run()
    pizzas.produce(ids(100, 200), partition=0)
    pizzas.produce(ids(1010, 1020), partition=1)
    delete_records(pizzas, admin, 150)
    with pytest.raises(PlanRefused, match=r"lost the offsets \[100, 150\).*accept_loss"):
        pizzas.plan()
    pizzas.run(accept_loss=True)
    assert pizzas.column("id") == [*range(100), *range(150, 200), *range(1000, 1020)]
    snapshot = pizzas.table().current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    lost = json.loads(snapshot.summary.additional_properties["floe.lost"])
    assert lost[pizzas.topic]["ranges"] == [[0, 100, 150]]
    pizzas.produce(ids(200, 210), partition=0)
    pizzas.run()
    snapshot = pizzas.table().current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    assert "floe.lost" not in snapshot.summary.additional_properties
    ledger = read_properties(property_name(pizzas.connector.group_id, "main"), pizzas.table().metadata.properties)
    assert ledger is not None
    (holding,) = (h for log_id, h in ledger.holdings.items() if log_id.partition == 0)
    assert [list(held) for held in holding.held.values()] == [[(0, 100), (150, 210)]]


@pytest.mark.full
def test_skipped_offsets_are_on_record_and_a_replay_reads_them(pipeline: MakePipeline) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 100), partition=0)
    pizzas.produce(ids(1000, 1010), partition=1)
    pizzas.run()
    pizzas.produce(ids(100, 200), partition=0)
    pizzas.produce(ids(1010, 1020), partition=1)
    pizzas.run(skip_to={f"{pizzas.topic}-0": 150})
    assert pizzas.column("id") == [*range(100), *range(150, 200), *range(1000, 1020)]
    assert lost_of(pizzas) == [[0, 100, 150]]
    with pytest.raises(PlanRefused, match=r"was read up to 200: it goes forward only.*\.replay"):
        pizzas.plan(skip_to={f"{pizzas.topic}-0": 150})
    pizzas.produce(ids(200, 220), partition=0)
    pizzas.run(skip_to={pizzas.topic: "latest"})
    assert pizzas.position() == {0: 220, 1: 10 + 10}
    pizzas.produce(ids(220, 230), partition=0)
    pizzas.run()
    assert lost_of(pizzas) == [[0, 200, 220]]
    ledger = read_properties(property_name(pizzas.connector.group_id, "main"), pizzas.table().metadata.properties)
    assert ledger is not None
    (holding,) = (h for log_id, h in ledger.holdings.items() if log_id.partition == 0)
    assert [list(held) for held in holding.held.values()] == [[(0, 100), (150, 200), (220, 230)]]
    replay(pizzas, ranges={"0": [100, 220]})
    assert pizzas.column("id") == [*range(230), *range(1000, 1020)]


@pytest.mark.full
def test_new_connector_begins_where_a_run_says(pipeline: MakePipeline) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 100), partition=0)
    pizzas.produce(ids(1000, 1010), partition=1)
    pizzas.run(start_at={f"{pizzas.topic}-0": 60, f"{pizzas.topic}-1": "2020-01-01T00:00:00Z"})
    assert pizzas.column("id") == [*range(60, 100), *range(1000, 1010)]
    with pytest.raises(PlanRefused, match="was read already"):
        pizzas.plan(start_at={pizzas.topic: "latest"})


def lost_of(pipeline: Pipeline) -> object:
    """Return the lost ranges that the newest snapshot records."""
    snapshot = pipeline.table().current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    return json.loads(snapshot.summary.additional_properties["floe.lost"])[pipeline.topic]["ranges"]


def test_the_key_accepts_losses_without_a_param(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(**{"floe.on-data-loss": "accept"})
    pizzas.produce(ids(0, 10))
    pizzas.run()
    pizzas.produce(ids(10, 30))
    delete_records(pizzas, admin, 20)
    pizzas.run()
    assert pizzas.column("id") == [*range(10), *range(20, 30)]


# -- adopt ------------------------------------------------------------------------------------------------------------


def test_a_recreated_topic_is_adopted_as_a_new_generation(pipeline: MakePipeline, admin: AdminClient) -> None:
    pizzas = pipeline(3)
    pizzas.produce(ids(0, 90))
    pizzas.run()
    recreate(pizzas, admin, 1)
    pizzas.produce(ids(100, 150))
    with pytest.raises(PlanRefused, match="reset_topics="):
        pizzas.plan()
    pizzas.run(reset_topics=[pizzas.topic])
    assert pizzas.column("id") == [*range(90), *range(100, 150)]
    pizzas.produce(ids(150, 160))
    pizzas.run()
    run_to_the_end(pizzas)
    assert pizzas.column("id") == [*range(90), *range(100, 160)]


def test_log_that_lost_its_end_is_reset_and_reread(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 100))
    pizzas.run()
    (position,) = pizzas.positions().values()
    # as if the tables and the position had been 50 records ahead of the log that is left
    facts = PositionMetadata.decode(position.metadata)
    assert facts is not None
    table = pizzas.table()
    name = property_name(pizzas.connector.group_id, "main")
    ledger = json.loads(table.metadata.properties[name])
    ((route, _),) = ledger["logs"][0][3].items()
    ledger["logs"][0][3] = {route: [[0, 150]]}
    ledger["logs"][0][4] = 150
    with table.transaction() as change:
        change.set_properties({name: json.dumps(ledger)})
    commit_as(pizzas, 150, position.metadata)
    with pytest.raises(PlanRefused, match=r"past its last stable offset 100.*reset_topics="):
        pizzas.plan()
    pizzas.run(reset_topics=[pizzas.topic])
    pizzas.produce(ids(100, 170))
    pizzas.run()
    assert pizzas.column("id") == list(range(170))


@pytest.mark.parametrize(
    "decision",
    [
        {"reset_topics": ["othre"]},
        {"drop_backlog": ["db.othre"]},
        {"accept_loss": ["othre"]},
        {"rolled_back": {"db.othre": "replay"}},
    ],
    ids=str,
)
def test_decision_on_unknown_name_is_refused(pipeline: MakePipeline, decision: dict[str, object]) -> None:
    (param,) = decision
    with pytest.raises(PlanRefused, match=f"{param} names"):
        pipeline().plan(**decision)


# -- rollbacks --------------------------------------------------------------------------------------------------------


def test_a_rolled_back_table_reads_the_lost_rows_again(pipeline: MakePipeline) -> None:
    pizzas = pipeline(2)
    for start in (0, 100, 200):
        pizzas.produce(ids(start, start + 100))
        pizzas.run()
    roll_back(pizzas, snapshot_ids(pizzas, "db.t")[0], "db.t")
    pizzas.produce(ids(300, 310))
    with pytest.raises(TableRefused, match="rolled_back="):
        pizzas.run()
    pizzas.run(rolled_back={"db.t": "replay"})
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(310))
    assert pizzas.backlogs() == {}


def test_accepted_rollback_continues_without_lost_rows(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    for start in (0, 100, 200):
        pizzas.produce(ids(start, start + 100))
        pizzas.run()
    roll_back(pizzas, snapshot_ids(pizzas, "db.t")[1], "db.t")
    pizzas.produce(ids(300, 310))
    pizzas.run(rolled_back={"db.t": "accept"})
    run_to_the_end(pizzas)
    assert pizzas.column("id") == [*range(200), *range(300, 310)]


def test_rolled_back_rows_are_found_in_older_metadata(
    pipeline: MakePipeline,
) -> None:
    pizzas = pipeline()
    for start in (0, 100, 200):
        pizzas.produce(ids(start, start + 100))
        pizzas.run()
    first, second, third = snapshot_ids(pizzas, "db.t")
    roll_back(pizzas, first, "db.t")
    pizzas.table().maintenance.expire_snapshots().by_ids([second, third]).commit()
    assert snapshot_ids(pizzas, "db.t") == [first]
    pizzas.run(rolled_back={"db.t": "replay"})
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(300))


def test_a_decision_that_is_not_needed_changes_nothing(pipeline: MakePipeline) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 100))
    pizzas.run()
    snapshots = len(pizzas.table().snapshots())
    pizzas.run(
        recover=True,
        accept_loss=True,
        reset_topics=[pizzas.topic, "*"],
        drop_backlog=["db.t"],
        rolled_back={"db.t": "replay"},
    )
    assert len(pizzas.table().snapshots()) == snapshots
    assert pizzas.position() == {0: 100}
    pizzas.produce(ids(100, 110))
    pizzas.run()
    assert pizzas.column("id") == list(range(110))


def test_a_plan_with_a_decision_is_repeated_without_harm(pipeline: MakePipeline) -> None:
    from floe.planning.live_plan import open_plan

    pizzas = pipeline()
    for start in (0, 100):
        pizzas.produce(ids(start, start + 100))
        pizzas.run()
    roll_back(pizzas, snapshot_ids(pizzas, "db.t")[0], "db.t")
    plan = pizzas.plan(rolled_back={"db.t": "replay"})
    open_plan(plan, pizzas.connector, pizzas.settings, pizzas.key(plan))
    pizzas.write(plan)
    pizzas.commit(plan)
    open_plan(plan, pizzas.connector, pizzas.settings, pizzas.key(plan))
    pizzas.try_write(plan)
    pizzas.committer(plan).commit([])
    run_to_the_end(pizzas)
    assert pizzas.column("id") == list(range(200))
    assert pizzas.backlogs() == {}
