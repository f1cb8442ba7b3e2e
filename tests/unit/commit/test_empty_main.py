"""Branches of tables whose main has no snapshot: each begins with its own commit, and main stays empty."""

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.route_hash import MAIN_BRANCH
from floe.recovery.rollback import rolled_back
from floe.tables.exceptions import TableRefused
from floe.tables.expiry import MAX_SNAPSHOTS
from floe.tables.snapshot_summary import committed_offsets
from floe.tables.table_state import ledger_of
from tests.support.tables.foreign_changes import append_foreign, roll_back
from tests.support.tables.lake import GROUP, LEDGER, OFFSETS, TABLE, Lake, expected
from tests.support.tables.old_snapshots import AgingLake
from tests.support.tables.slices import Write, make_plan
from tests.support.tables.wire import Wire, fails_first, once

AUDIT = "audit"


def of_branch(table: Table, branch: str) -> Snapshot:
    found = table.metadata.snapshot_by_name(branch)
    assert found is not None
    return found


def ledger_on(lake: Lake, branch: str = AUDIT) -> Ledger:
    return ledger_of(lake.load(), branch, make_plan((0, 0, 5)))


def fast_forward(lake: Lake, branch: str = AUDIT) -> None:
    """Set main to a branch's head, as ``CALL system.fast_forward`` does."""
    table = lake.load()
    table.manage_snapshots().create_branch(of_branch(table, branch).snapshot_id, MAIN_BRANCH).commit()


# -- the first commit -------------------------------------------------------------------------------------------------


def test_branch_of_an_empty_table_begins_with_its_own_commit(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5), branch=AUDIT)
    written.land()
    metadata = lake.load().metadata
    (only,) = metadata.snapshots
    assert only.parent_snapshot_id is None
    assert (metadata.current_snapshot_id, set(metadata.refs), metadata.snapshot_log) == (None, {AUDIT}, [])
    assert lake.rows(AUDIT) == expected((0, 5))
    assert LEDGER not in metadata.properties
    assert written.land().already


def test_branch_of_an_empty_table_goes_on_and_main_stays_empty(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5), branch=AUDIT).land()
    written = write((0, 3, 9), plan_id="plan-2", branch=AUDIT)
    assert written.counts.rows == 4
    written.land()
    assert lake.rows(AUDIT) == expected((0, 9))
    head = of_branch(lake.load(), AUDIT)
    assert (head.parent_snapshot_id, head.sequence_number) == (first.snapshot_id, 2)
    assert MAIN_BRANCH not in lake.load().metadata.refs


@pytest.mark.parametrize(
    "answer", [CommitFailedException("409"), CommitStateUnknownException("504"), ConnectionError("reset")]
)
@pytest.mark.parametrize("when", ["before", "after"])
def test_first_branch_commit_with_lost_answer_adds_once(lake: Lake, write: Write, answer: Exception, when: str) -> None:
    lake.create()
    written = write((0, 0, 5), branch=AUDIT)
    client = lake.catalog()
    Wire(client, **{when: fails_first(answer)})  # type: ignore[arg-type]
    written.land(client)
    assert lake.rows(AUDIT) == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


def test_two_first_commits_of_a_branch_land_once(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5), branch=AUDIT)
    client = lake.catalog()
    Wire(client, before=once(written.land))
    assert written.land(client).already
    assert lake.rows(AUDIT) == expected((0, 5))


def test_first_commit_of_a_branch_after_mains_grows_from_main(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5), branch=AUDIT)
    client = lake.catalog()
    Wire(client, before=once(lambda: append_foreign(lake, 1)))
    written.land(client)
    table = lake.load()
    assert of_branch(table, AUDIT).parent_snapshot_id == table.metadata.current_snapshot_id
    assert lake.rows(AUDIT) == [*expected((0, 5)), (99, 1)]


@pytest.mark.parametrize("known", [False, True], ids=["a new branch", "a known branch"])
@pytest.mark.parametrize("first", [AUDIT, MAIN_BRANCH])
def test_first_branch_commits_at_once_keep_sequence_numbers(lake: Lake, write: Write, first: str, known: bool) -> None:
    """A catalog takes a snapshot without a parent under any sequence number, even one that is given away by now."""
    lake.create()
    if known:
        write((0, 0, 2), plan_id="other-0", branch="other").land()
    written = write((0, 0, 5), branch=first)

    def others() -> None:
        for i, span in enumerate(((2, 3), (3, 4)), 1):
            write((0, *span), plan_id=f"other-{i}", branch="other").land()

    client = lake.catalog()
    Wire(client, before=once(others))
    written.land(client)
    numbers = [s.sequence_number for s in lake.load().metadata.snapshots]
    assert numbers == sorted(set(numbers))  # type: ignore[type-var]
    assert lake.rows(first) == expected((0, 5))
    assert of_branch(lake.load(), first).parent_snapshot_id is None


def test_main_of_a_table_that_has_a_branch_begins_by_itself(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch=AUDIT).land()
    written = write((0, 0, 3), plan_id="plan-2")
    assert written.counts.rows == 3
    written.land()
    assert lake.rows() == expected((0, 3))
    assert lake.rows(AUDIT) == expected((0, 5))
    assert of_branch(lake.load(), MAIN_BRANCH).parent_snapshot_id is None


def test_second_branch_of_an_empty_main_begins_by_itself(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch=AUDIT).land()
    write((0, 0, 9), plan_id="plan-2", branch="other").land()
    assert lake.rows("other") == expected((0, 9))
    assert set(lake.load().metadata.refs) == {AUDIT, "other"}


# -- what main becomes ------------------------------------------------------------------------------------------------


def test_main_fast_forwarded_to_the_branch_has_its_rows(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch=AUDIT).land()
    fast_forward(lake)
    assert lake.rows() == expected((0, 5))
    write((0, 5, 9), plan_id="plan-2", branch=AUDIT).land()
    assert lake.rows() == expected((0, 5))
    assert lake.rows(AUDIT) == expected((0, 9))
    roll_back(lake, of_branch(lake.load(), AUDIT).snapshot_id)  # forward: main is an ancestor
    assert lake.rows() == expected((0, 9))


def test_branch_after_a_fast_forward_holds_what_it_held(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch=AUDIT).land()
    fast_forward(lake)
    assert not write((0, 0, 5), plan_id="plan-2", branch=AUDIT).files


# -- what walks back from a branch ------------------------------------------------------------------------------------


def test_control_offsets_of_an_empty_main_are_none_and_known(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch=AUDIT, control_ends={0: 3, 1: 70}).land()
    metadata = lake.load().metadata
    assert committed_offsets(metadata, MAIN_BRANCH, OFFSETS) == ({}, True)
    assert committed_offsets(metadata, AUDIT, OFFSETS) == ({0: 9, 1: 70}, True)


def test_control_offsets_of_main_younger_than_branch_are_found(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch=AUDIT).land()
    append_foreign(lake, 1)
    assert committed_offsets(lake.load().metadata, MAIN_BRANCH, OFFSETS) == ({}, True)


def test_rollback_of_a_branch_beside_an_empty_main_is_found(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5), branch=AUDIT).land().snapshot_id or 0
    write((0, 5, 9), plan_id="plan-2", branch=AUDIT).land()
    known = ledger_on(lake)
    roll_back(lake, first, AUDIT)
    with pytest.raises(TableRefused, match="was rolled back"):
        ledger_on(lake)
    lost = rolled_back(lake.load(), AUDIT, GROUP, known)
    assert lost is not None
    assert [spans.spans for spans in lost.values()] == [((5, 9),)]


def test_dropped_branch_beside_an_empty_main_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch=AUDIT).land()
    waiting = write((0, 5, 9), plan_id="plan-2", branch=AUDIT)
    lake.load().manage_snapshots().remove_branch(AUDIT).commit()
    with pytest.raises(TableRefused, match="'audit' emptied"):
        waiting.land()
    assert not lake.load().metadata.refs


def test_expiry_on_a_branch_beside_an_empty_main_keeps_the_rest(aging: AgingLake) -> None:
    aging.create(properties={MAX_SNAPSHOTS: "2"})
    committed = aging.commit(*range(5), branch=AUDIT)
    assert aging.kept() == committed[-2:]
    assert aging.rows(AUDIT) == expected((0, 5))
    ledger = read_properties(property_name(GROUP, AUDIT), aging.load(TABLE).properties)
    assert ledger is not None
    assert ledger_on(aging) == ledger
