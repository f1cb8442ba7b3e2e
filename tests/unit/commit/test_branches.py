"""Branches: grown from main, with main's ledger, and each with its own from then on."""

import pytest
from pyiceberg.exceptions import CommitFailedException

from floe.model.ledger_codec import property_name
from floe.model.route_hash import route_hash
from floe.tables.exceptions import TableRefused
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import GROUP, LEDGER, OFFSETS, TOPIC, Lake, expected, head
from tests.support.tables.slices import Write, Written, held
from tests.support.tables.wire import Wire, fails_first, once


def held_by(lake: Lake, written: Written, branch: str) -> tuple[tuple[int, int], ...]:
    return held(lake, written, branch, route_hash(TOPIC, branch)).spans


def test_missing_branch_starts_from_main_head_and_its_ledger(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    write((0, 0, 5)).land()
    written = write((0, 3, 9), plan_id="plan-2", branch="audit")
    assert written.counts.rows == 4
    written.land()
    assert lake.rows("audit") == [*expected((0, 9)), (99, 1)]
    assert lake.rows() == [*expected((0, 5)), (99, 1)]
    assert held_by(lake, written, "audit") == ((0, 9),)
    assert held_by(lake, written, "main") == ((0, 5),)
    head = lake.load().metadata.snapshot_by_name("audit")
    assert head is not None
    assert head.parent_snapshot_id == lake.load().metadata.current_snapshot_id
    assert head.summary is not None
    assert head.summary["total-records"] == "10"


def test_ledgers_of_branches_go_their_own_ways(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    write((0, 5, 9), plan_id="plan-2", branch="audit").land()
    on_main = write((0, 5, 7), plan_id="plan-3")
    assert on_main.counts.rows == 2
    on_main.land()
    again = write((0, 5, 12), plan_id="plan-4", branch="audit")
    assert again.counts.rows == 3
    again.land()
    assert lake.rows() == expected((0, 7))
    assert lake.rows("audit") == expected((0, 12))
    assert property_name(GROUP, "audit") in lake.load().properties
    assert LEDGER in lake.load().properties


def test_branches_whose_names_begin_alike_keep_their_ledgers(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch="audit/2024").land()
    write((0, 0, 5), plan_id="plan-2", branch="audit").land()
    assert not write((0, 0, 5), plan_id="plan-3", branch="audit/2024").files
    assert lake.rows("audit/2024") == lake.rows("audit") == expected((0, 5))


def test_two_committers_of_a_missing_branch_land_once(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    written = write((0, 0, 5), branch="audit")
    client = lake.catalog()
    Wire(client, before=once(written.land))
    assert written.land(client).already
    assert lake.rows("audit") == [*expected((0, 5)), (99, 1)]


@pytest.mark.parametrize("answer", [CommitFailedException("409"), ConnectionError("reset")])
def test_a_lost_answer_on_a_branch_lands_once(lake: Lake, write: Write, answer: Exception) -> None:
    lake.create()
    append_foreign(lake, 1)
    written = write((0, 0, 5), branch="audit")
    client = lake.catalog()
    Wire(client, after=fails_first(answer))
    committed = written.land(client)
    assert committed.already
    head = lake.load().metadata.snapshot_by_name("audit")
    assert head is not None
    assert head.snapshot_id == committed.snapshot_id
    assert lake.rows("audit") == [*expected((0, 5)), (99, 1)]


def test_branch_dropped_with_its_rows_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    write((0, 0, 5), branch="audit").land()
    waiting = write((0, 5, 9), plan_id="plan-2", branch="audit")
    lake.load().manage_snapshots().remove_branch("audit").commit()
    with pytest.raises(TableRefused, match="'audit' emptied"):
        waiting.land()
    assert "audit" not in lake.load().metadata.refs


def test_a_foreign_append_to_main_does_not_disturb_a_branch(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    write((0, 0, 5), branch="audit").land()
    append_foreign(lake, 2)
    write((0, 5, 9), plan_id="plan-2", branch="audit").land()
    assert lake.rows("audit") == [*expected((0, 9)), (99, 1)]


def test_branch_made_by_others_below_our_snapshots_is_used_as_is(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    head = lake.load().metadata.current_snapshot_id
    assert head is not None
    lake.load().manage_snapshots().create_branch(head, "audit").commit()
    write((0, 0, 5)).land()
    write((0, 0, 5), plan_id="plan-2", branch="audit").land()
    assert lake.rows("audit") == [*expected((0, 5)), (99, 1)]


# -- what a branch inherits -------------------------------------------------------------------------------------------


def make_branch(lake: Lake, name: str, at: int | None = None) -> None:
    lake.load().manage_snapshots().create_branch(at or head(lake), name).commit()


def test_branch_of_main_with_its_anchor_inherits_the_ledger(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    append_foreign(lake, 1)
    make_branch(lake, "audit")
    written = write((0, 3, 9), plan_id="plan-2", branch="audit")
    assert written.counts.rows == 4
    written.land()
    assert lake.rows("audit") == [*expected((0, 9)), (99, 1)]
    assert held_by(lake, written, "audit") == ((0, 9),)
    assert held_by(lake, written, "main") == ((0, 5),)


def test_branch_with_rows_that_main_left_behind_is_refused(lake: Lake, write: Write) -> None:
    """Main's ledger speaks of rows that are not on the branch by now, and which it has, nothing tells."""
    lake.create()
    write((0, 0, 5)).land()
    make_branch(lake, "audit")
    write((0, 5, 7), plan_id="plan-2").land()
    with pytest.raises(TableRefused, match=r"branch 'audit' .* committed to branch 'main'"):
        write((0, 0, 9), plan_id="plan-3", branch="audit")


def test_branch_older_than_our_rows_in_main_inherits_nothing(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    make_branch(lake, "audit")
    write((0, 0, 5)).land()
    written = write((0, 0, 5), plan_id="plan-2", branch="audit")
    assert written.counts.rows == 5
    written.land()
    assert lake.rows("audit") == [*expected((0, 5)), (99, 1)]


def test_what_a_branch_inherits_grows_under_its_own_route(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    make_branch(lake, "audit")
    write((0, 5, 7), plan_id="plan-2", branch="audit").land()
    written = write((0, 9, 12), plan_id="plan-3", branch="audit")
    written.land()
    assert held_by(lake, written, "audit") == ((0, 12),)


def test_branch_with_its_own_ledger_keeps_it(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    write((0, 0, 5), branch="audit").land()
    write((0, 0, 9), plan_id="plan-2").land()
    written = write((0, 0, 7), plan_id="plan-3", branch="audit")
    assert written.counts.rows == 2


def test_a_tag_in_the_place_of_the_branch_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    lake.load().manage_snapshots().create_tag(head(lake), "audit").commit()
    with pytest.raises(TableRefused, match=r"is a tag, not a branch.*default-commit-branch"):
        write((0, 0, 5), branch="audit")


def test_a_new_branch_carries_mains_control_offsets_on(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), control_ends={0: 3, 1: 70}).land()
    write((0, 5, 9), plan_id="plan-2", branch="audit", control_ends={0: 3, 1: 4}).land()
    head = lake.load().metadata.snapshot_by_name("audit")
    assert head is not None
    assert head.summary is not None
    assert head.summary[OFFSETS] == '{"0":9,"1":70}'
