"""Amending a ledger: once, in an empty snapshot, whatever others do and the catalog answers."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException, ForbiddenError
from pyiceberg.table import Table

from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.recovery.apply_decisions import KeepAnchor, update_ledger
from floe.tables.exceptions import TableNotCommitted, TableRefused
from tests.support.tables.foreign_changes import append_foreign, roll_back
from tests.support.tables.lake import GROUP, TABLE, Lake, expected, head
from tests.support.tables.slices import Write
from tests.support.tables.wire import Wire, fails_first, once

UNCLEAR = [
    pytest.param(CommitFailedException("409"), id="409"),
    pytest.param(CommitStateUnknownException("504"), id="504"),
    pytest.param(ConnectionError("reset by peer"), id="reset"),
    pytest.param(ValueError("not JSON"), id="garbled"),
]
SUMMARY: Mapping[str, str] = {"floe.group": GROUP, "floe.slice": "plan/adopt", "floe.kind": "adopt"}


def ledger_in(table: Table, branch: str = "main") -> Ledger:
    ledger = read_properties(property_name(GROUP, branch), table.properties)
    assert ledger is not None
    return ledger


def to_c2(table: Table, branch: str = "main") -> Ledger | None:
    """Let the ledger know cluster C2."""
    ledger = ledger_in(table, branch)
    return None if ledger.cluster_id == "C2" else ledger.of_cluster("C2")


@pytest.fixture
def updated_ledger(lake: Lake, write: Write) -> Callable[..., int | None]:
    """Amend a table that holds five rows, by a client that ``wire`` is put before."""
    lake.create()
    write((0, 0, 5)).land()

    def make(wire: Callable[..., Wire] | None = None, timeout_ms: int = 20_000) -> int | None:
        catalog = lake.catalog()
        if wire is not None:
            wire(catalog)
        connector = lake.connector(**{"iceberg.control.commit.timeout-ms": str(timeout_ms)})
        return update_ledger(replace(lake.opened(catalog), connector=connector), TABLE, to_c2, SUMMARY)

    return make


def test_the_ledger_changes_in_an_empty_snapshot_that_it_names(
    lake: Lake, updated_ledger: Callable[..., int | None]
) -> None:
    before = head(lake)
    snapshot_id = updated_ledger()
    table = lake.load()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert (snapshot.snapshot_id, snapshot.parent_snapshot_id) == (snapshot_id, before)
    assert snapshot.summary is not None
    assert {**SUMMARY, "total-records": "5"}.items() <= snapshot.summary.additional_properties.items()
    assert "added-records" not in snapshot.summary.additional_properties
    ledger = ledger_in(table)
    assert ledger.cluster_id == "C2"
    assert ledger.anchor == (snapshot_id, snapshot.sequence_number)
    assert lake.rows() == expected((0, 5))


def test_ledger_with_undecided_history_keeps_its_anchor(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    second = write((0, 5, 9), plan_id="plan-2").land()
    roll_back(lake, first.snapshot_id or 0)

    def change(table: Table) -> KeepAnchor | None:
        ledger = to_c2(table)
        return None if ledger is None else KeepAnchor(ledger)

    for expected_id in (True, False):
        snapshot_id = update_ledger(lake.opened(), TABLE, change, SUMMARY)
        assert (snapshot_id == head(lake)) is expected_id
    ledger = ledger_in(lake.load())
    assert ledger.cluster_id == "C2"
    assert ledger.anchor is not None
    assert ledger.anchor.snapshot_id == second.snapshot_id


def test_the_branch_to_amend_may_be_another_than_the_connectors(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    connector = lake.connector(**{"iceberg.tables.default-commit-branch": "audit"})
    update_ledger(replace(lake.opened(), connector=connector), TABLE, to_c2, SUMMARY, lambda _: "main")
    assert ledger_in(lake.load()).cluster_id == "C2"
    assert "audit" not in lake.load().metadata.refs


def test_amending_again_does_nothing(lake: Lake, updated_ledger: Callable[..., int | None]) -> None:
    updated_ledger()
    before = lake.load().metadata_location
    assert updated_ledger() is None
    assert lake.load().metadata_location == before


def test_foreign_append_in_between_is_kept_before_ledger_update(
    lake: Lake, updated_ledger: Callable[..., int | None]
) -> None:
    snapshot_id = updated_ledger(lambda catalog: Wire(catalog, before=once(lambda: append_foreign(lake, 1))))
    assert snapshot_id == head(lake)
    assert lake.rows() == [*expected((0, 5)), (99, 1)]
    assert ledger_in(lake.load()).cluster_id == "C2"


def test_rows_of_ours_that_land_in_between_stay_in_the_ledger(
    lake: Lake, write: Write, updated_ledger: Callable[..., int | None]
) -> None:
    written = write((0, 5, 9), plan_id="plan-2")
    updated_ledger(lambda catalog: Wire(catalog, before=once(written.land)))
    ledger = ledger_in(lake.load())
    (holding,) = ledger.holdings.values()
    assert (ledger.cluster_id, holding.live_end) == ("C2", 9)


def test_a_rival_that_amends_the_same_first_leaves_nothing_to_do(
    lake: Lake, updated_ledger: Callable[..., int | None]
) -> None:
    assert updated_ledger(lambda catalog: Wire(catalog, before=once(updated_ledger))) is None
    assert len(lake.load().metadata.snapshots) == 2


@pytest.mark.parametrize("answer", UNCLEAR)
def test_lost_answer_to_ledger_update_makes_no_second_one(
    lake: Lake, updated_ledger: Callable[..., int | None], answer: Exception
) -> None:
    assert updated_ledger(lambda catalog: Wire(catalog, after=fails_first(answer))) is None
    assert len(lake.load().metadata.snapshots) == 2
    assert ledger_in(lake.load()).cluster_id == "C2"


@pytest.mark.parametrize("answer", UNCLEAR)
def test_an_error_before_anything_happened_is_tried_again(
    lake: Lake, updated_ledger: Callable[..., int | None], answer: Exception
) -> None:
    assert updated_ledger(lambda catalog: Wire(catalog, before=fails_first(answer, times=2))) == head(lake)
    assert len(lake.load().metadata.snapshots) == 2


@pytest.mark.parametrize("answer", UNCLEAR)
def test_ledger_update_timed_out_changes_nothing_with_reason(
    lake: Lake, updated_ledger: Callable[..., int | None], answer: Exception
) -> None:
    def wire(catalog: object) -> Wire:
        return Wire(catalog, before=fails_first(answer, times=10**6))  # type: ignore[arg-type]

    with pytest.raises(TableNotCommitted, match=str(answer)):
        updated_ledger(wire, timeout_ms=1)
    assert ledger_in(lake.load()).cluster_id == "C1"


def test_a_catalog_that_forbids_it_is_not_asked_twice(updated_ledger: Callable[..., int | None]) -> None:
    wires: list[Wire] = []

    def wire(catalog: object) -> Wire:
        wires.append(Wire(catalog, before=fails_first(ForbiddenError("no"), times=10**6)))  # type: ignore[arg-type]
        return wires[0]

    with pytest.raises(TableRefused, match="not allowed"):
        updated_ledger(wire)
    assert wires[0].sent == 1


def test_a_table_that_is_gone_is_refused(lake: Lake, updated_ledger: Callable[..., int | None]) -> None:
    lake.catalog().drop_table(TABLE)
    with pytest.raises(TableRefused, match=r"'rpc\.pizzas' does not exist any more"):
        updated_ledger()


def test_the_ledger_of_a_branch_is_amended_on_that_branch(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    write((0, 0, 5), branch="audit").land()
    main = head(lake)
    connector = lake.connector(**{"iceberg.tables.default-commit-branch": "audit"})
    opened = replace(lake.opened(), connector=connector)
    snapshot_id = update_ledger(opened, TABLE, lambda table: to_c2(table, "audit"), SUMMARY)
    assert (head(lake, "audit"), head(lake)) == (snapshot_id, main)
    assert ledger_in(lake.load(), "audit").cluster_id == "C2"
