"""Making plans. The broker is stood in for; the lake is real."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.model.decisions import Rollback
from floe.model.exceptions import PlanRefused
from floe.model.offsets import Intervals, TopicPartition
from floe.model.plan import Plan
from floe.model.route_hash import route_hash, routing_hash
from floe.tables import connector_ledgers
from tests.support.kafka.fake_broker import Broker
from tests.support.runs.live_plans import position, ranges
from tests.support.tables.lake import LEDGER, OTHER_TABLE, TABLE, TOPIC, Lake
from tests.support.tables.slices import Write


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
    assert plan.decisions == {"recover": True, "notes": [f"{TOPIC}-0: recovered at 60 from the tables"]}


def test_unopened_catalog_is_not_taken_for_lost_positions(
    draft: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connector_ledgers, "CatalogClient", CatalogClient)
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
        assert plan.decisions["notes"] == [f"{TOPIC}-0: the offsets [5, 8) (3) are lost; the loss was accepted"]
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
    with pytest.raises(PlanRefused, match="does not write it any more"):
        draft()
    assert draft(drop_backlog=frozenset({"rpc.gone"})).positions == (position(50, since=50),)


def test_backlog_of_topic_not_read_any_more_is_refused(broker: Broker, draft: Callable[..., Plan]) -> None:
    elsewhere = replace(position(50, backlog=20), tp=TopicPartition("drinks", 3))
    broker.has(elsewhere)
    with pytest.raises(PlanRefused, match=r"\['rpc.pizzas'\] are behind on drinks-3.*Configure the topic"):
        draft()
    broker.has(replace(elsewhere, metadata=position(50).metadata))
    assert ranges(draft()) == [("live", [f"{TOPIC}-0[0, 100)"])]
