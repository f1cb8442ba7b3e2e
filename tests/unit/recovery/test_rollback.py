"""Rollbacks: which offsets a table lost, by its snapshots' summaries or by its older metadata."""

from typing import Any

import pytest

from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.offsets import Intervals, Span
from floe.recovery.apply_decisions import update_ledger
from floe.recovery.rollback import Lost, rolled_back, with_gained
from floe.tables import snapshot_summary
from floe.tables.exceptions import TableRefused
from tests.support.tables.foreign_changes import append_foreign, remove_older_metadata, rewrite_metadata, roll_back
from tests.support.tables.lake import GROUP, LEDGER, ROUTE, TABLE, TOPIC, TOPIC_ID, Lake, expected, head
from tests.support.tables.slices import Write


def set_back(lake: Lake, snapshot_id: int | None) -> None:
    """Set main back as its owner does, by a commit."""
    lake.load().manage_snapshots().rollback_to_snapshot(snapshot_id or 0).commit()


def expire(lake: Lake, *snapshot_ids: int | None) -> None:
    for snapshot_id in snapshot_ids:
        lake.of_others().maintenance.expire_snapshots().by_id(snapshot_id or 0).commit()


def ledger_in(lake: Lake, branch: str = "main") -> Ledger:
    ledger = read_properties(property_name(GROUP, branch), lake.load().properties)
    assert ledger is not None
    return ledger


def lost(lake: Lake, branch: str = "main") -> Lost | None:
    return rolled_back(lake.load(), branch, GROUP, ledger_in(lake, branch))


def of(**spans: list[Span]) -> Lost:
    """Name what was lost by partition: ``p0=[(5, 9)]``."""
    return {LogId(TOPIC, TOPIC_ID, int(name[1:])): Intervals.of(s) for name, s in spans.items()}


@pytest.fixture(params=["summaries", "older metadata"])
def evidence(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let nets be in the summaries, or only digests of them."""
    if request.param == "older metadata":
        monkeypatch.setattr(snapshot_summary, "MAX_PROPERTY_LENGTH", 10)
    return str(request.param)


def test_a_table_that_was_not_rolled_back_lost_nothing(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    append_foreign(lake, 1)
    assert lost(lake) is None


@pytest.mark.usefixtures("evidence")
def test_the_net_of_every_snapshot_that_was_left_behind_is_lost(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    write((0, 3, 9), (1, 4, 6), plan_id="plan-2").land()
    write((0, 9, 12), plan_id="plan-3").land()
    set_back(lake, first.snapshot_id)
    assert lost(lake) == of(p0=[(5, 12)], p1=[(4, 6)])


@pytest.mark.usefixtures("evidence")
def test_rollback_to_foreign_snapshot_keeps_rows_below_it(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    append_foreign(lake, 1)
    between = head(lake)
    write((0, 5, 9), plan_id="plan-2").land()
    append_foreign(lake, 2)
    set_back(lake, between)
    assert lost(lake) == of(p0=[(5, 9)])


@pytest.mark.usefixtures("evidence")
def test_rollback_before_our_first_snapshot_loses_all(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    before = head(lake)
    write((0, 0, 5)).land()
    write((0, 5, 9), plan_id="plan-2").land()
    set_back(lake, before)
    assert lost(lake) == of(p0=[(0, 9)])


@pytest.mark.usefixtures("evidence")
def test_appended_again_rows_stay_by_the_older_snapshot(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    write((0, 3, 8), plan_id="replay", kind="append").land()
    assert lake.rows() == expected((0, 5), (3, 8))
    set_back(lake, first.snapshot_id)
    assert lost(lake) == of(p0=[(5, 8)])


def test_where_the_snapshots_expired_the_older_metadata_tells(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    second = write((0, 5, 9), plan_id="plan-2").land()
    third = write((0, 9, 12), plan_id="plan-3").land()
    set_back(lake, first.snapshot_id)
    expire(lake, second.snapshot_id)
    assert lost(lake) == of(p0=[(5, 12)])
    expire(lake, third.snapshot_id)
    assert lost(lake) == of(p0=[(5, 12)])


@pytest.mark.usefixtures("evidence")
def test_second_rollback_to_same_snapshot_loses_reread_rows(lake: Lake, write: Write) -> None:
    """After the first rollback the ledger spoke of more than the table held: it is no evidence of the second."""
    lake.create()
    first = write((0, 0, 5)).land()
    write((0, 5, 9), plan_id="plan-2").land()
    set_back(lake, first.snapshot_id)
    gone = lost(lake)
    assert gone is not None
    update_ledger(lake.opened(), TABLE, lambda _: ledger_in(lake).without(gone), {"floe.group": GROUP})
    write((0, 5, 9), plan_id="plan-3").land()
    assert lake.rows() == expected((0, 9))
    set_back(lake, first.snapshot_id)
    assert lost(lake) == of(p0=[(5, 9)])


def test_a_table_that_was_replaced_under_its_uuid_lost_all(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    write((0, 5, 9), plan_id="plan-2").land()
    append_foreign(lake, 1)

    def orphan(metadata: dict[str, Any]) -> None:
        metadata["snapshots"][-1].pop("parent-snapshot-id")

    rewrite_metadata(lake, orphan)
    assert lost(lake) == of(p0=[(0, 9)])


def test_rollback_without_any_history_is_refused_with_advice(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    second = write((0, 5, 9), plan_id="plan-2").land()
    set_back(lake, first.snapshot_id)
    expire(lake, second.snapshot_id)
    remove_older_metadata(lake)
    with pytest.raises(
        TableRefused, match=r"cannot find out which offsets it lost.*Set the branch forward.*\"accept\".*replay"
    ):
        lost(lake)


# -- what came back ---------------------------------------------------------------------------------------------------


def found_again(lake: Lake, branch: str = "main") -> dict[str, Lost]:
    """Return by route what the ledger holds more, once it has followed the branch."""
    ledger = ledger_in(lake, branch)
    after = with_gained(lake.load(), branch, GROUP, ledger, ledger)
    more: dict[str, Lost] = {}
    for log_id, holding in after.holdings.items():
        before = ledger.holdings.get(log_id, Holding())
        for route, held in holding.held.items():
            if found := held - before.held.get(route, Intervals()):
                more[route] = {**more.get(route, {}), log_id: found}
    return more


def test_a_branch_holds_nothing_beside_the_history_of_its_ledger(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    assert found_again(lake) == {}
    write((0, 5, 9), plan_id="plan-2").land()
    assert found_again(lake) == {}
    set_back(lake, first.snapshot_id)
    assert found_again(lake) == {}


def test_a_rollback_that_was_taken_back_brings_its_rows_back(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    second = write((0, 5, 9), plan_id="plan-2").land()
    set_back(lake, first.snapshot_id)
    gone = lost(lake)
    assert gone is not None
    update_ledger(lake.opened(), TABLE, lambda _: ledger_in(lake).without(gone), {"floe.group": GROUP})
    roll_back(lake, second.snapshot_id or 0)
    assert lake.rows() == expected((0, 9))
    assert found_again(lake) == {ROUTE: of(p0=[(5, 9)])}


def test_main_set_to_branch_head_has_branch_rows_by_own_route(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    write((0, 5, 9), plan_id="plan-2", branch="audit").land()
    roll_back(lake, head(lake, "audit"))
    assert lake.rows() == expected((0, 9))
    assert found_again(lake) == {ROUTE: of(p0=[(5, 9)])}


def test_rows_that_came_back_with_only_a_digest_are_refused(
    lake: Lake, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_summary, "MAX_PROPERTY_LENGTH", 10)
    lake.create()
    write((0, 0, 5)).land()
    committed = write((0, 5, 9), plan_id="plan-2", branch="audit").land()
    roll_back(lake, head(lake, "audit"))
    with pytest.raises(
        TableRefused, match=rf"snapshot {committed.snapshot_id} added: its summary does not contain all"
    ):
        found_again(lake)


def test_a_branch_is_rolled_back_by_itself(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    write((0, 0, 5), branch="audit").land()
    at = head(lake, "audit")
    write((0, 5, 9), plan_id="plan-2", branch="audit").land()
    write((0, 0, 7), plan_id="plan-3").land()
    roll_back(lake, at, "audit")
    assert lost(lake, "audit") == of(p0=[(5, 9)])
    assert lost(lake) is None


def test_dropped_branch_is_refused_with_snapshot_to_restore(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    committed = write((0, 0, 5), branch="audit").land()
    lake.load().manage_snapshots().remove_branch("audit").commit()
    with pytest.raises(TableRefused, match=rf"'audit' of table 'rpc\.pizzas' was dropped.*{committed.snapshot_id}"):
        lost(lake, "audit")


def test_a_ledger_that_was_taken_away_for_a_while_is_no_evidence(
    lake: Lake, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_summary, "MAX_PROPERTY_LENGTH", 10)
    lake.create()
    first = write((0, 0, 5)).land()
    text = lake.load().properties[LEDGER]
    lake.load().transaction().remove_properties(LEDGER).commit_transaction()
    lake.load().transaction().set_properties(**{LEDGER: text}).commit_transaction()
    write((0, 5, 9), plan_id="plan-2").land()
    set_back(lake, first.snapshot_id)
    assert lost(lake) == of(p0=[(5, 9)])
