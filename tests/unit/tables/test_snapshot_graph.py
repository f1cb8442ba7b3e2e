"""The graph of a table's snapshots: lines, gaps with and without links, and the links that an expiry needs."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.table.snapshots import Operation, Snapshot, Summary

from floe.model.ledger import Anchor, Ledger
from floe.tables.history import HistoryState, SnapshotGraph, check_history
from tests.support.tables.lake import GROUP, Lake


def snapshot(one: int, parent: int | None, number: int = 1) -> Snapshot:
    return Snapshot(
        snapshot_id=one,
        parent_snapshot_id=parent,
        sequence_number=number,
        timestamp_ms=one,
        manifest_list=f"{one}.avro",
        summary=Summary(Operation.APPEND),
    )


def graph(*edges: tuple[int, int | None], links: dict[int, int] | None = None, **heads: int) -> SnapshotGraph:
    return SnapshotGraph({one: snapshot(one, parent) for one, parent in edges}, links or {}, heads)


def ids(line: object) -> list[int]:
    return [one.snapshot_id for one in line]  # type: ignore[attr-defined]


def test_line_leads_from_a_snapshot_to_the_first() -> None:
    assert ids(graph((1, None), (2, 1), (3, 2)).line(3)) == [3, 2, 1]


def test_line_ends_at_a_gap_and_goes_on_over_a_link() -> None:
    assert ids(graph((1, None), (4, 3)).line(4)) == [4]
    assert ids(graph((1, None), (4, 3), links={4: 1}).line(4)) == [4, 1]


def test_line_of_an_unknown_snapshot_is_empty() -> None:
    assert ids(graph((1, None)).line(9)) == []


def test_line_of_a_circle_ends() -> None:
    assert ids(graph((1, 2), (2, 1)).line(1)) == [1, 2]


def test_branch_that_does_not_exist_is_empty() -> None:
    assert ids(graph((1, None), main=1).branch("audit")) == []
    assert ids(graph((1, None), main=1).branch("main")) == [1]


def test_commit_makes_a_snapshot_the_head_of_its_branch() -> None:
    after = graph((1, None), main=1).committed("audit", snapshot(2, 1))
    assert (ids(after.branch("audit")), ids(after.branch("main"))) == ([2, 1], [1])


def test_line_down_to_ends_with_the_first_that_is_met() -> None:
    assert ids(graph((1, None), (2, 1), (3, 2)).line_down_to(3, {2, 1})) == [3, 2]


@given(st.data())
def test_links_over_gaps_keep_every_ancestor_that_is_left(data: st.DataObject) -> None:
    """Whatever expires, in however many steps: what is left leads to the same ancestors as before."""
    count = data.draw(st.integers(1, 12))
    parents = [data.draw(st.integers(0, one - 1)) for one in range(1, count + 1)]
    whole = graph(*((one, parent or None) for one, parent in enumerate(parents, 1)))
    now = whole
    for _ in range(data.draw(st.integers(1, 3))):
        gone = data.draw(st.sets(st.sampled_from(sorted(now.snapshots))) if now.snapshots else st.just(set()))
        links = now.links_over(gone, now.snapshots.keys() - gone)
        left = {one: kept for one, kept in now.snapshots.items() if one not in gone}
        now = replace(now, snapshots=left, links=links)
    for one in now.snapshots:
        assert ids(now.line(one)) == [i for i in ids(whole.line(one)) if i in now.snapshots]


@pytest.mark.parametrize(("anchor", "leads_back"), [(None, True), (1, False)])
def test_check_of_a_table_without_snapshots(lake: Lake, anchor: int | None, leads_back: bool) -> None:
    ledger = Ledger("C1", anchor=None if anchor is None else Anchor(anchor, 1))
    check = check_history(lake.create().metadata, "main", GROUP, ledger)
    assert check.leads_back is leads_back
    assert check.finding is (HistoryState.INTACT if leads_back else HistoryState.CUT_OFF)
    assert leads_back or "'main' emptied: snapshot 1" in check.problem("rpc.pizzas", "main", GROUP)
