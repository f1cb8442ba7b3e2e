"""A catalog that does not keep a commit as it was sent is refused by name, before any offset is committed."""

from __future__ import annotations

import pytest
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata

from floe.catalogs.commit_check import is_proven
from floe.catalogs.exceptions import CommitAltered
from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.offsets import Intervals
from floe.tables.change import append_files, expire
from floe.tables.expiry import Expired
from floe.tables.snapshot_commit import LedgerUpdate, append, commit_change
from tests.support.tables.lake import CLUSTER, LEDGER, ROUTE, TABLE, TOPIC, TOPIC_ID, Lake
from tests.support.tables.slices import write_slice
from tests.support.tables.unfaithful import (
    Alteration,
    alter_answers,
    alter_loads,
    cut_to,
    without_branches,
    without_ledger,
    without_snapshots,
    without_summary,
)

ALTERATIONS = {
    "ledger dropped": (without_ledger, f"table property '{LEDGER}' is not there"),
    "ledger cut": (cut_to(120), f"table property '{LEDGER}' has 120 of "),
    "summary dropped": (without_summary, "summary property 'floe."),
    "snapshot ignored": (without_snapshots, "branch 'main' is at None, not at "),
}


def ledger_to(end: int) -> Ledger:
    return Ledger(CLUSTER, {LogId(TOPIC, TOPIC_ID, 0): Holding({ROUTE: Intervals.of([(0, end)])})})


def long_ledger() -> Ledger:
    spans = Intervals.of([(i * 1_000_003 % 99_999_989 * 10, i * 1_000_003 % 99_999_989 * 10 + 7) for i in range(2_000)])
    return Ledger(CLUSTER, {LogId(TOPIC, TOPIC_ID, 0): Holding({ROUTE: spans})})


@pytest.mark.parametrize(("alter", "named"), ALTERATIONS.values(), ids=ALTERATIONS)
def test_altered_answer_is_refused_by_name(lake: Lake, alter: Alteration, named: str) -> None:
    lake.create()
    written, client = write_slice(lake, (0, 0, 5)), lake.catalog()
    alter_answers(client, alter)
    with pytest.raises(CommitAltered, match=r"\(CheckedSqlCatalog\) answers that .* No offset was committed") as caught:
        written.land(client)
    assert named in str(caught.value) and f"of table '{TABLE}'" in str(caught.value)


@pytest.mark.parametrize(("alter", "named"), ALTERATIONS.values(), ids=ALTERATIONS)
def test_altered_table_is_refused_by_name(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, alter: Alteration, named: str
) -> None:
    lake.create()
    written, client = write_slice(lake, (0, 0, 5)), lake.catalog()
    alter_loads(monkeypatch, alter)
    if alter is without_snapshots:
        named = "snapshot"  # its head is as before the commit
    with pytest.raises(CommitAltered, match="does not keep a commit as it was sent") as caught:
        written.land(client)
    assert named in str(caught.value)


def test_long_ledger_that_is_cut_is_refused(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.create()
    append(table, "main", (), {}, LEDGER, ledger_to(5))
    table = lake.load()
    alter_loads(monkeypatch, cut_to(3_000))
    with pytest.raises(CommitAltered, match="has 3000 of 3"):
        append(table, "main", (), {}, LEDGER, long_ledger())


def test_dropped_branch_is_refused(lake: Lake) -> None:
    table = lake.create()
    alter_answers(table.catalog, without_branches)
    with pytest.raises(CommitAltered, match="branch 'audit' is at None"):
        append(table, "audit", (), {}, LEDGER, ledger_to(5))


def test_removed_property_that_stays_is_refused(lake: Lake) -> None:
    append(lake.create(), "main", (), {}, LEDGER, long_ledger())
    table = lake.load()
    before = dict(table.metadata.properties)
    alter_answers(table.catalog, lambda m: m.model_copy(update={"properties": {**before, **m.properties}}))
    with pytest.raises(CommitAltered, match="was to be removed and is there"):
        append(table, "main", (), {}, LEDGER, ledger_to(5))


def test_repeat_after_an_altered_commit_adds_no_rows(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create()
    written, client = write_slice(lake, (0, 0, 5)), lake.catalog()
    with monkeypatch.context() as patches:
        alter_loads(patches, without_ledger)
        with pytest.raises(CommitAltered):
            written.land(client)
        snapshots = len(lake.load().metadata.snapshots)
        with pytest.raises(Exception, match="ledger"):
            written.land()
        assert len(lake.load().metadata.snapshots) == snapshots == 1
    assert len(lake.rows()) == 5


def test_server_is_asked_again_for_the_first_commit_only(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.create()
    loaded = alter_loads(monkeypatch, lambda metadata: metadata)
    counts = []  # the SQL catalog loads the table itself, too
    for end in (5, 9, 13):
        table = lake.load()
        loaded.clear()
        append(table, "main", (), {}, LEDGER, ledger_to(end))
        counts.append(len(loaded))
    assert counts == [2, 1, 1]


def test_commit_of_others_meanwhile_is_not_called_altered(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lake.create()
    alter_loads(monkeypatch, without_ledger)
    perform = table.catalog.commit_table

    def commit_table(*args: object) -> object:
        answer = perform(*args)  # type: ignore[arg-type]
        monkeypatch.setattr(table.catalog, "commit_table", perform)
        lake.of_others().append(lake.of_others().scan().to_arrow())
        return answer

    monkeypatch.setattr(table.catalog, "commit_table", commit_table)
    append(table, "main", (), {}, LEDGER, ledger_to(5))


def test_answer_that_has_a_later_commit_is_not_called_altered(lake: Lake) -> None:
    table = lake.create()

    def later(metadata: TableMetadata) -> TableMetadata:
        append(lake.load(), "main", (), {}, LEDGER, ledger_to(9))
        return lake.load().metadata

    alter_answers(table.catalog, later)
    append(table, "main", (), {}, LEDGER, ledger_to(5))


def test_growing_ledger_is_proven_by_powers_of_two(lake: Lake) -> None:
    table = lake.create(properties={LEDGER: "x" * 130}, schema=Schema())
    assert is_proven(table.metadata, {LEDGER: "x" * 255})
    assert not is_proven(table.metadata, {LEDGER: "x" * 256})
    assert not is_proven(table.metadata, {f"{LEDGER}.1": "x"})


def test_expiry_that_a_catalog_ignores_is_refused(lake: Lake) -> None:
    table = lake.create()
    for end in (5, 6, 7):
        append(table, "main", (), {}, LEDGER, ledger_to(end))
        table = lake.load()
    before, oldest = table.metadata, table.metadata.snapshots[0].snapshot_id
    alter_answers(table.catalog, lambda _: before)
    with pytest.raises(CommitAltered, match=f"snapshot {oldest} was to expire and is there. No row was touched"):
        commit_change(table, expire("main", Expired((oldest,))))


def test_ledger_without_a_snapshot_is_not_sent(lake: Lake) -> None:
    table = lake.create()
    with pytest.raises(ValueError, match="takes no ledger"):
        commit_change(table, expire("main", Expired()), LedgerUpdate(LEDGER, ledger_to(5)))
    assert lake.load().metadata == table.metadata


def test_first_snapshot_of_a_branch_that_a_catalog_ignores_is_refused(lake: Lake) -> None:
    table = lake.create()
    alter_answers(table.catalog, without_branches)
    with pytest.raises(CommitAltered, match="branch 'audit' is at None"):
        commit_change(table, append_files(table, "audit", {}, ()))
