"""Manifests and specs: one manifest per partition spec, merging over many commits, totals in the summary."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.manifest import ManifestFile
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import BucketTransform

from floe.control.data_files import to_pyiceberg
from floe.model.ledger_codec import read_properties, write_properties
from floe.tables.exceptions import TableRefused
from floe.tables.snapshot_commit import SpecFile, append
from floe.tables.table_ledger import ledger_of
from tests.support.tables.lake import BY_SAUCE, GROUP, LEDGER, Lake, Written, append_foreign, expected

Write = Callable[..., Written]


def newest(lake: Lake) -> Snapshot:
    snapshot = lake.load().current_snapshot()
    assert snapshot is not None
    return snapshot


def manifests(lake: Lake) -> list[ManifestFile]:
    return newest(lake).manifests(lake.load().io)


@pytest.mark.parametrize("branch", ["main", "audit"])
def test_the_metadata_that_a_commit_is_made_of_stays_as_it_is(lake: Lake, write: Write, branch: str) -> None:
    lake.create(properties={"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"})
    for number, start in enumerate((0, 5)):
        write((0, start, start + 5), plan_id=f"plan-{number}").land()
    written = write((0, 10, 15), plan_id="plan-3", branch=branch)
    table = lake.load()
    before = table.metadata.model_dump_json()
    files = [
        SpecFile(spec.spec_id, to_pyiceberg(file, spec.partition_type))
        for spec in written.table_files.files
        for file in spec.files
    ]
    append(table, branch, files, {}, LEDGER, ledger_of(table, branch, written.plan))
    assert table.metadata.model_dump_json() == before
    assert lake.rows(branch) == expected((0, 15))


def test_files_of_one_spec_go_into_one_manifest(lake: Lake, write: Write) -> None:
    lake.create(BY_SAUCE)
    written = write((0, 0, 9))
    assert len(written.files) == 3
    written.land()
    (manifest,) = manifests(lake)
    assert (manifest.added_files_count, manifest.added_rows_count) == (3, 9)


def test_files_of_two_specs_keep_their_own_partition_values(lake: Lake, write: Write) -> None:
    lake.create()
    with lake.load().update_spec() as update:
        update.add_field("sauce", BucketTransform(4), "sauce_bucket")
    with lake.load().update_spec() as update:
        update.add_identity("sauce")
    written = write((0, 0, 12), spec_ids=(0, 1, 2))
    written.land()
    assert lake.rows() == expected((0, 12))
    assert len(lake.load().metadata.snapshots) == 1
    assert sorted(m.partition_spec_id for m in manifests(lake)) == [0, 1, 2]
    partitions: dict[int, set[tuple[object, ...]]] = {}
    for manifest in manifests(lake):
        for entry in manifest.fetch_manifest_entry(lake.load().io):
            values = tuple(entry.data_file.partition._data)
            partitions.setdefault(manifest.partition_spec_id, set()).add(values)
    assert partitions[0] == {()}
    assert {len(values) for values in partitions[1]} == {1}
    assert {values[1] for values in partitions[2]} <= {"regular", "light", "none"}
    for sauce in ("regular", "light", "none"):
        found = lake.load().scan(row_filter=EqualTo("sauce", sauce)).to_arrow()
        assert len(found) == 4


def test_spec_evolved_before_commit_leaves_files_in_their_spec(lake: Lake, write: Write) -> None:
    lake.create(BY_SAUCE)
    written = write((0, 0, 9))
    with lake.load().update_spec() as update:
        update.remove_field("sauce")
    written.land()
    write((0, 9, 12), plan_id="plan-2").land()
    assert lake.rows() == expected((0, 12))
    assert sorted(m.partition_spec_id for m in manifests(lake)) == [0, 1]
    assert len(lake.load().scan(row_filter=EqualTo("sauce", "light")).to_arrow()) == 4


def test_files_of_a_spec_unknown_to_the_table_are_refused(lake: Lake, write: Write) -> None:
    lake.create()
    with lake.load().update_spec() as update:
        update.add_identity("sauce")
    written = write((0, 0, 3), spec_ids=(1,))
    spec = written.table_files.files[0].__class__(
        7, written.table_files.files[0].partition_type, written.table_files.files[0].files
    )
    with pytest.raises(TableRefused, match=r"no partition spec \[7\]"):
        written.with_share(files=(spec,)).land()
    assert lake.rows() == []


def test_thirty_merging_commits_keep_rows_in_few_manifests(lake: Lake, write: Write) -> None:
    lake.create(BY_SAUCE, {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "3"})
    for i in range(30):
        if i == 15:
            with lake.load().update_spec() as update:
                update.add_field("kafka_partition", BucketTransform(2), "partition_bucket")
        write((0, 3 * i, 3 * i + 3), plan_id=f"plan-{i}").land()
    assert lake.rows() == expected((0, 90))
    assert len(manifests(lake)) <= 6
    summary = newest(lake).summary
    assert summary is not None
    assert (summary["total-records"], summary["total-data-files"], summary["added-records"]) == ("90", "90", "3")
    for snapshot in lake.load().metadata.snapshots[::10]:
        assert lake.load().scan(snapshot_id=snapshot.snapshot_id).to_arrow().num_rows % 3 == 0


def test_without_merging_every_commit_adds_one_manifest(lake: Lake, write: Write) -> None:
    lake.create()
    for i in range(3):
        write((0, i, i + 1), plan_id=f"plan-{i}").land()
    assert len(manifests(lake)) == 3


def test_files_and_entries_carry_sequence_number_of_snapshot(lake: Lake, write: Write) -> None:
    lake.create(properties={"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"})
    for i in range(4):
        write((0, i, i + 1), plan_id=f"plan-{i}").land()
    entries = [e for m in manifests(lake) for e in m.fetch_manifest_entry(lake.load().io)]
    assert sorted(e.sequence_number for e in entries) == [1, 2, 3, 4]
    assert len({e.snapshot_id for e in entries}) == 4


def test_totals_count_on_from_a_foreign_snapshot(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1, 2)
    write((0, 0, 5)).land()
    summary = newest(lake).summary
    assert summary is not None
    assert (summary["total-records"], summary["total-data-files"]) == ("7", "2")


def test_ledger_in_pieces_is_committed_with_files_and_shrinks(lake: Lake, write: Write) -> None:
    lake.create()
    last = write(*[(p, 1000 * p, 1000 * p + 1) for p in range(60)])
    last.land()
    long = read_properties(LEDGER, lake.load().properties)
    assert long is not None
    assert len(long.holdings) == 60
    range_parts = {name for name in lake.load().properties if name.startswith(f"{LEDGER}/")}
    assert range_parts
    short = write_properties(LEDGER, replace(long, holdings={}))
    append(lake.load(), "main", (), {"floe.group": GROUP}, LEDGER, replace(long, holdings={}))
    after = lake.load().properties
    assert {name for name in after if name.startswith(LEDGER)} == set(short) == {LEDGER}


def test_every_ledger_change_is_a_snapshot_named_by_it(lake: Lake, write: Write) -> None:
    lake.create()
    for i in range(3):
        write((0, i, i + 1), plan_id=f"plan-{i}").land()
        ledger = read_properties(LEDGER, lake.load().properties)
        assert ledger is not None
        assert ledger.anchor == (newest(lake).snapshot_id, newest(lake).sequence_number)
