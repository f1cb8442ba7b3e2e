"""A snapshot before it is sent: what it requires, where it grows from, and what it refuses."""

from __future__ import annotations

import time

import pytest
from pyiceberg.manifest import ManifestEntryStatus
from pyiceberg.table import Table
from pyiceberg.table.update import AddSnapshotUpdate, AssertRefSnapshotId, SetSnapshotRefUpdate

from floe.catalogs.clock import last_time
from floe.manifests.manifest_list import manifests_of
from floe.model.ledger import Ledger
from floe.tables.change import append_files, replace_files
from floe.tables.exceptions import TableRefused
from floe.tables.new_snapshot import NewSnapshot
from floe.tables.snapshot_commit import LedgerUpdate, commit_change
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import BY_SAUCE, LEDGER, Lake, expected
from tests.support.tables.slices import Write


def prepared(table: Table, branch: str) -> tuple[AddSnapshotUpdate, SetSnapshotRefUpdate, AssertRefSnapshotId]:
    (add, point), requirements = NewSnapshot(table, append_files(table, branch, {"a": "b"}, ())).prepare()
    assert isinstance(add, AddSnapshotUpdate) and isinstance(point, SetSnapshotRefUpdate)
    (requirement,) = (one for one in requirements if isinstance(one, AssertRefSnapshotId) and one.ref == branch)
    return add, point, requirement


def test_prepared_snapshot_is_not_sent_and_requires_the_head_that_it_was_made_for(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    head = table.metadata.current_snapshot_id
    add, point, requirement = prepared(table, "main")
    assert (requirement.snapshot_id, add.snapshot.parent_snapshot_id) == (head, head)
    assert (point.ref_name, point.snapshot_id) == ("main", add.snapshot.snapshot_id)
    assert add.snapshot.summary is not None and add.snapshot.summary["a"] == "b"
    assert lake.load().metadata_location == table.metadata_location


def test_missing_branch_begins_at_the_head_of_main(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    add, _, requirement = prepared(table, "audit")
    assert requirement.snapshot_id is None
    assert add.snapshot.parent_snapshot_id == table.metadata.current_snapshot_id


def test_branch_keeps_its_own_retention(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    head = table.metadata.current_snapshot_id
    assert head is not None
    with table.manage_snapshots() as manage:
        manage.create_branch(head, "audit", max_ref_age_ms=10_000_000, min_snapshots_to_keep=7)
    _, point, _ = prepared(lake.load(), "audit")
    assert (point.max_ref_age_ms, point.min_snapshots_to_keep, point.max_snapshot_age_ms) == (10_000_000, 7, None)


def test_snapshot_is_after_the_last_change_of_the_table_though_the_clock_went_back(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    last = last_time(table.metadata)
    monkeypatch.setattr(time, "time", lambda: last / 1000 - 3_600)
    add, _, _ = prepared(table, "main")
    assert add.snapshot.timestamp_ms == last + 1


def test_tag_is_no_branch(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    head = table.metadata.current_snapshot_id
    assert head is not None
    with table.manage_snapshots() as manage:
        manage.create_tag(head, "release")
    table = lake.load()
    with pytest.raises(TableRefused, match="'release' is a tag, not a branch") as caught:
        commit_change(table, append_files(table, "release", {}, ()), LedgerUpdate(LEDGER, Ledger("C1")))
    assert caught.value.code == "FLOE-412"
    assert lake.load().metadata_location == table.metadata_location


def test_removal_of_a_file_that_the_branch_does_not_have_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 3)).land()
    table = lake.load()
    (task,) = table.scan().plan_files()
    commit_change(table, replace_files(table, "main", {}, (), [task.file]), LedgerUpdate(LEDGER, Ledger("C1")))
    assert lake.rows() == []
    again = lake.load()
    with pytest.raises(TableRefused, match="does not have the files that are to be removed") as caught:
        commit_change(again, replace_files(again, "main", {}, (), [task.file]), LedgerUpdate(LEDGER, Ledger("C1")))
    assert "Nothing was committed" in str(caught.value)
    assert lake.load().metadata_location == again.metadata_location


def test_removed_files_are_named_and_the_others_of_their_manifest_stay_what_they_were(lake: Lake, write: Write) -> None:
    lake.create(BY_SAUCE)
    write((0, 0, 9)).land()
    write((0, 9, 12), plan_id="plan-2").land()
    table = lake.load()
    one = next(task.file for task in table.scan("sauce = 'light' and kafka_offset < 9").plan_files())
    commit_change(table, replace_files(table, "main", {}, (), [one]), LedgerUpdate(LEDGER, Ledger("C1")))
    after = lake.load()
    snapshot = after.current_snapshot()
    assert snapshot is not None and snapshot.summary is not None
    entries = [
        (entry.status, entry.data_file.file_path, entry.sequence_number)
        for manifest in manifests_of(after.io, snapshot)
        for entry in manifest.fetch_manifest_entry(after.io, discard_deleted=False)
    ]
    gone = [(path, number) for status, path, number in entries if status == ManifestEntryStatus.DELETED]
    kept = [number for status, _, number in entries if status == ManifestEntryStatus.EXISTING]
    assert gone == [(one.file_path, 1)]
    assert kept == [1, 1], "their sequence number is that of the commit that added them"
    assert snapshot.summary["deleted-records"] == str(one.record_count)
    assert len(lake.rows()) == len(expected((0, 12))) - one.record_count


def test_manifest_without_live_files_is_left_out_of_the_next_append(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 3)).land()
    table = lake.load()
    emptied = replace_files(table, "main", {}, (), [t.file for t in table.scan().plan_files()])
    commit_change(table, emptied, LedgerUpdate(LEDGER, Ledger("C1")))
    again = lake.load()
    commit_change(again, append_files(again, "main", {}, ()), LedgerUpdate(LEDGER, Ledger("C1")))
    after = lake.load()
    snapshot = after.current_snapshot()
    assert snapshot is not None
    assert manifests_of(after.io, snapshot) == []
