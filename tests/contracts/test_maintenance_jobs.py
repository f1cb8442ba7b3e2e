"""What every maintenance job keeps to, on a real SQLite catalog: floe's own, and those of extensions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.refs import MAIN_BRANCH

from floe.catalogs import clock
from floe.catalogs.clock import now_ms
from floe.catalogs.exceptions import CatalogUnreachable
from floe.maintenance import jobs
from floe.maintenance.job import MaintenanceDeferred, Policy, Report
from floe.maintenance.jobs import JOBS, run_job
from floe.model.ledger_codec import ledger_names, read_properties
from floe.tables import expiry, retry
from floe.tables.history import GROUP, LINKS, branch_history, snapshot_property
from floe.tables.snapshot_commit import commit_change
from tests.support.contracts import JobCase, added_cases
from tests.support.extensions import installed_example, listed_example
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import TABLE
from tests.support.tables.old_snapshots import AGE, DAY, THEIRS, AgingLake
from tests.support.tables.wire import Wire, fails_first, once

ADDED: dict[str, JobCase] = added_cases("JOBS")
OWN = {"expire-snapshots": JobCase()}
ALL = {**OWN, **ADDED}
ASKED = {key: value for case in ALL.values() for key, value in case.properties.items()}
MAY_GO = {name for case in ALL.values() for name in case.drops}

__all__ = ["installed_example", "listed_example"]
pytestmark = pytest.mark.usefixtures("listed_example")


def job_of(case: str) -> str:
    """Return the name of a case's job: a job may have several cases, with a comma behind its name."""
    return case.partition(",")[0]


def much_to_do(aging: AgingLake) -> None:
    """Make a table on which every job has something to do, and much that must stay."""
    aging.create(properties={**AGE, **ASKED})
    aging.commit(0, group=THEIRS, partition=1)
    made = aging.commit(0, 1, 2, 3)
    aging.set_ref("keep", made[0])
    aging.set_ref("audit", made[1], "branch")
    aging.set_ref("with-a-ledger", made[3], "branch")
    aging.commit(4, branch="with-a-ledger")
    for case in ALL.values():
        case.prepare(aging)
    append_foreign(aging, 0)
    aging.make_older(20)


@pytest.fixture
def aging(tmp_path: Path) -> Iterator[AgingLake]:
    """Give a lake that ages."""
    (tmp_path / "warehouse").mkdir()
    with closing(AgingLake(tmp_path)) as made:
        yield made


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "CONFLICT_WAIT", 0.0)


every_job = pytest.mark.parametrize("name", ALL)


def carry_out(aging: AgingLake, name: str, wire: Wire | None = None, **more: Any) -> Report | None:
    return run_job(JOBS[job_of(name)], aging.opened(None if wire is None else wire.catalog), TABLE, now_ms(), **more)


def metadata_of(aging: AgingLake) -> str:
    return aging.load().metadata_location


def all_rows(aging: AgingLake) -> dict[str, list[tuple[int, int]]]:
    """Return the rows of every branch and tag that must stay."""
    table = aging.load()
    found = {}
    for ref in (ref for name, ref in table.metadata.refs.items() if name not in MAY_GO):
        rows = table.scan(snapshot_id=ref.snapshot_id).to_arrow().to_pylist()
        found[str(ref.snapshot_id)] = sorted((row["kafka_partition"], row["kafka_offset"]) for row in rows)
    return found


def needed(aging: AgingLake) -> dict[str, int]:
    """Return the snapshots that nothing may take out: heads, where ledgers stand, the newest of each connector."""
    metadata = aging.load().metadata
    refs = {name: ref for name, ref in metadata.refs.items() if name not in MAY_GO}
    found = {f"ref {name}": ref.snapshot_id for name, ref in refs.items()}
    for name in ledger_names(metadata.properties):
        ledger = read_properties(name, metadata.properties)
        assert ledger is not None and ledger.anchor is not None
        found[name] = ledger.anchor.snapshot_id
    for snapshot in branch_history(metadata, MAIN_BRANCH):
        found.setdefault(f"newest of {snapshot_property(snapshot, GROUP)}", snapshot.snapshot_id)
    return found


def adds_up(report: Report) -> bool:
    return all(
        report.before[what] + report.added.get(what, 0) - report.removed.get(what, 0) == report.after[what]
        for what in report.before
    )


# -- the suite ---------------------------------------------------------------------------------------------------------


@every_job
def test_job_is_registered_under_its_own_name(name: str) -> None:
    assert JOBS[job_of(name)].name == job_of(name)


@every_job
def test_table_that_says_nothing_has_nothing_due(name: str, aging: AgingLake) -> None:
    aging.create()
    aging.commit(0, 1, 2)
    aging.make_older(400)
    before = metadata_of(aging)
    assert carry_out(aging, name) is None
    assert metadata_of(aging) == before


@every_job
def test_table_whose_garbage_is_of_another_program_loses_nothing(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    aging.set_property("gc.enabled", "false")
    before = metadata_of(aging)
    assert carry_out(aging, name) is None
    assert metadata_of(aging) == before


@every_job
def test_job_on_a_table_that_does_not_exist_does_nothing(name: str, aging: AgingLake) -> None:
    aging.catalog().create_namespace_if_not_exists("rpc")
    assert carry_out(aging, name) is None


@every_job
def test_dry_run_changes_nothing_and_says_what_would_be(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    before = metadata_of(aging)
    would = carry_out(aging, name, dry_run=True)
    assert metadata_of(aging) == before
    did = carry_out(aging, name)
    assert would is not None and did is not None and would.is_dry_run and not did.is_dry_run
    assert (would.before, would.after, would.removed, would.added) == (did.before, did.after, did.removed, did.added)
    assert "would remove" in str(would) and "would" not in str(did)


@every_job
def test_job_run_twice_does_it_once(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    assert carry_out(aging, name)
    after = metadata_of(aging)
    assert carry_out(aging, name) is None
    assert metadata_of(aging) == after


@every_job
def test_change_of_a_table_that_was_committed_to_is_a_conflict(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    job, state = JOBS[job_of(name)], aging.opened().state(TABLE)
    work = job.due(state, Policy.of(state), now_ms())
    append_foreign(aging, 1)
    before = metadata_of(aging)
    with pytest.raises(CommitFailedException):
        commit_change(state.required(), job.change(state, work))
    assert metadata_of(aging) == before


@every_job
def test_report_adds_up_and_is_true(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    report = carry_out(aging, name)
    assert report is not None and adds_up(report)
    assert (report.job, report.table) == (job_of(name), TABLE)
    if "snapshots" in report.after:
        assert report.after["snapshots"] == len(aging.kept())


@every_job
def test_concurrent_commit_goes_first_and_the_job_follows(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    wire = Wire(aging.catalog(), before=once(lambda: append_foreign(aging, 77)))
    report = carry_out(aging, name, wire)
    assert report is not None and adds_up(report)
    assert (99, 77) in aging.rows()
    assert carry_out(aging, name) is None


@every_job
def test_job_that_only_meets_conflicts_gives_up_unharmed(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    before = metadata_of(aging)
    wire = Wire(aging.catalog(), before=fails_first(CommitFailedException("another was first"), times=100))
    with pytest.raises(MaintenanceDeferred, match=r"10 other commits in a row\. Nothing was changed"):
        carry_out(aging, name, wire)
    assert (metadata_of(aging), wire.sent) == (before, jobs.MAX_CONFLICTS)


@every_job
def test_job_whose_answer_is_lost_has_nothing_left_to_do(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    wire = Wire(aging.catalog(), after=fails_first(ConnectionError("no answer")))
    with pytest.raises(CatalogUnreachable, match="unknown"):
        carry_out(aging, name, wire)
    assert carry_out(aging, name) is None


@every_job
def test_what_is_needed_stays_and_no_row_changes(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    must_stay, rows = needed(aging), all_rows(aging)
    assert {"ref keep", "ref audit", "ref main", f"newest of {THEIRS}"} <= must_stay.keys()
    carry_out(aging, name)
    kept = aging.kept()
    assert not {what: one for what, one in must_stay.items() if one not in kept}
    assert needed(aging) == must_stay
    assert all_rows(aging) == rows
    aging.commit(4)
    aging.commit(1, group=THEIRS, partition=1)
    assert (0, 4) in aging.rows() and (1, 1) in aging.rows()


@every_job
def test_job_leaves_files_and_ledgers_alone(name: str, aging: AgingLake) -> None:
    much_to_do(aging)
    files = {path for path in aging.folder.rglob("*") if path.suffix in (".parquet", ".avro")}
    ledgers = {key: value for key, value in aging.load().properties.items() if key.startswith("floe.ledger.")}
    carry_out(aging, name)
    assert all(path.exists() for path in files)
    assert {k: v for k, v in aging.load().properties.items() if k.startswith("floe.ledger.")} == ledgers


@every_job
def test_links_over_gaps_stay_as_long_as_something_is_behind_them(name: str, aging: AgingLake) -> None:
    aging.create(properties={"floe.expire.max-snapshots": "2", **ASKED})
    aging.commit(0, group=THEIRS, partition=7)
    aging.commit(*range(6))
    for case in ALL.values():
        case.prepare(aging)
    before = aging.history()
    assert LINKS in aging.load().properties
    carry_out(aging, name)
    assert LINKS in aging.load().properties
    assert aging.history() == before


# -- expiry ------------------------------------------------------------------------------------------------------------


def test_expiry_goes_on_until_nothing_is_due(aging: AgingLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "MAX_PER_COMMIT", 2)
    aging.create(properties=AGE)
    made = aging.commit(*range(6))
    aging.make_older(20)
    report = carry_out(aging, "expire-snapshots")
    assert report is not None and adds_up(report)
    assert (report.before["snapshots"], report.after["snapshots"], aging.kept()) == (6, 1, made[-1:])


def test_expiry_that_gives_up_later_says_what_is_done(aging: AgingLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "MAX_PER_COMMIT", 2)
    aging.create(properties=AGE)
    aging.commit(*range(6))
    aging.make_older(20)
    conflicts = fails_first(CommitFailedException("another was first"), times=100)
    wire = Wire(aging.catalog(), before=lambda attempt: conflicts(attempt) if attempt else None)
    with pytest.raises(MaintenanceDeferred, match=r"earlier rounds are committed \(.*removed 2 snapshots.*; left: 4"):
        carry_out(aging, "expire-snapshots", wire)
    assert len(aging.kept()) == 4


def test_expiry_alone_and_in_a_commit_leave_the_same(aging: AgingLake) -> None:
    much_to_do(aging)
    alone = carry_out(aging, "expire-snapshots")
    assert alone is not None
    kept = set(aging.kept())
    made = aging.commit(4)
    # the commit makes a head of its own; the former one goes as old as it is, if no ledger needs it
    assert set(aging.kept()) - set(made) <= kept
    assert carry_out(aging, "expire-snapshots") is None


def test_expiry_waits_while_the_clock_is_behind_the_table(aging: AgingLake, monkeypatch: pytest.MonkeyPatch) -> None:
    much_to_do(aging)
    before = metadata_of(aging)
    monkeypatch.setattr(clock, "now_ms", lambda: int(time.time() * 1000) - DAY)
    assert carry_out(aging, "expire-snapshots") is None
    assert metadata_of(aging) == before


def test_expiry_drops_tags_past_their_age(aging: AgingLake) -> None:
    aging.create(properties={**AGE, "history.expire.max-ref-age-ms": str(10 * DAY)})
    made = aging.commit(0, 1)
    aging.set_ref("old", made[0])
    aging.make_older(20)
    report = carry_out(aging, "expire-snapshots")
    assert report is not None and report.removed == {"snapshots": 1, "branches and tags": 1}
    assert set(aging.load().metadata.refs) == {"main"}


def test_every_job_has_a_case() -> None:
    assert set(JOBS) == set(map(job_of, ALL))
    assert set(JOBS.own) == set(OWN)
