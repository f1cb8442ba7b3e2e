"""Manifests and specs: a manifest per partition spec, merging over many commits, totals, summaries of partitions."""

import struct
from dataclasses import replace
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import ManifestFile, clear_manifest_cache
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform
from pyiceberg.types import DoubleType, FloatType, IcebergType, NestedField, UUIDType

from floe.control.data_files import to_pyiceberg
from floe.model.ledger import Ledger
from floe.model.ledger_codec import read_properties, write_properties
from floe.parquet.arrow_shapes import storage_type
from floe.parquet.table_writer import TableWriter
from floe.tables.change import SpecFile, replace_files
from floe.tables.exceptions import TableRefused
from floe.tables.snapshot_commit import LedgerUpdate, append, commit_change
from floe.tables.table_state import ledger_of
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import BY_SAUCE, GROUP, LEDGER, TABLE, Lake, expected
from tests.support.tables.slices import Write


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


@pytest.mark.parametrize("codec", ["gzip", " GZIP", "zstd", "uncompressed"])
def test_metadata_is_written_and_read_again_in_each_codec(lake: Lake, write: Write, codec: str) -> None:
    merging = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "2"}
    lake.create(BY_SAUCE, {"write.avro.compression-codec": codec, **merging})
    for i in range(3):
        write((0, i, i + 1), plan_id=f"plan-{i}").land()
    assert lake.rows() == expected((0, 3))


def test_table_in_a_codec_without_its_library_is_refused_until_it_has_another(lake: Lake, write: Write) -> None:
    lake.create(properties={"write.avro.compression-codec": "snappy"})
    written = write((0, 0, 3))
    with pytest.raises(TableRefused, match="snappy codec is supported but you need to install") as caught:
        written.land()
    assert caught.value.code == "FLOE-412" and "Nothing was committed to it" in str(caught.value)
    assert lake.rows() == []
    with lake.load().transaction() as change:
        change.set_properties({"write.avro.compression-codec": "zstd"})
    written.land()
    assert lake.rows() == expected((0, 3))


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


UUIDS = [UUID("018f6b2e-0001-7000-8000-000000000001").bytes, UUID("ff613e30-d8f1-4adf-91b7-584a2265b1f1").bytes]


def create_partitioned(lake: Lake, of: IcebergType, how: Transform[Any, Any]) -> Table:
    spec = PartitionSpec(PartitionField(1, 1000, how, "p"))
    return lake.create(spec, schema=Schema(NestedField(1, "c", of, required=False)))


def files(table: Table, values: list[Any]) -> list[SpecFile]:
    field = schema_to_pyarrow(table.schema()).field(0)
    array = pa.array(values, storage_type(field.type))
    if isinstance(field.type, pa.BaseExtensionType):
        array = pa.ExtensionArray.from_storage(field.type, array)
    writer = TableWriter(table.metadata, table.io, table.schema(), table.spec(), table.properties, "test")
    writer.write(pa.Table.from_arrays([array], schema=schema_to_pyarrow(table.schema())))
    return [SpecFile(0, file) for file in writer.close()]


def manifests_for_others(lake: Lake) -> list[ManifestFile]:
    clear_manifest_cache()  # another process has not read any
    table = lake.of_others(TABLE)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.manifests(table.io)


@pytest.mark.parametrize(("how", "is_told"), [(IdentityTransform(), False), (BucketTransform(4), True)])
def test_uuid_partitions_have_no_summaries(lake: Lake, how: Transform[Any, Any], is_told: bool) -> None:
    table = create_partitioned(lake, UUIDType(), how)
    append(table, "main", files(table, UUIDS), {}, LEDGER, Ledger("C1"))
    (manifest,) = manifests_for_others(lake)
    assert bool(manifest.partitions) == is_told
    again = lake.load()
    one = min((task.file for task in again.scan().plan_files()), key=lambda file: file.file_path)
    change = replace_files(again, "main", {}, files(again, UUIDS[:1]), (one,))
    commit_change(again, change, LedgerUpdate(LEDGER, Ledger("C1")))
    assert {bool(one.partitions) for one in manifests_for_others(lake)} == {is_told}
    assert lake.load().scan().to_arrow().num_rows == 2


@pytest.mark.parametrize(("of", "code"), [(FloatType(), "<f"), (DoubleType(), "<d")])
@pytest.mark.parametrize(
    ("values", "bounds"), [([0.0], (-0.0, 0.0)), ([-1.5, -0.0], (-1.5, 0.0)), ([0.0, 2.5], (-0.0, 2.5))]
)
def test_zeros_in_summaries_are_below_and_above(
    lake: Lake, of: IcebergType, code: str, values: list[float], bounds: tuple[float, float]
) -> None:
    table = create_partitioned(lake, of, IdentityTransform())
    append(table, "main", files(table, values), {}, LEDGER, Ledger("C1"))
    ((summary,),) = (manifest.partitions or () for manifest in manifests_for_others(lake))
    assert (summary.lower_bound, summary.upper_bound) == tuple(struct.pack(code, bound) for bound in bounds)


def test_summaries_of_earlier_commits_are_corrected(lake: Lake) -> None:
    table = create_partitioned(lake, UUIDType(), IdentityTransform())
    with lake.of_others(TABLE).transaction() as transaction, transaction.update_snapshot().fast_append() as foreign:
        for spec_file in files(table, UUIDS):
            foreign.append_data_file(spec_file.file)
    assert all(manifest.partitions for manifest in manifests_for_others(lake))
    again = lake.load()
    append(again, "main", files(again, UUIDS), {}, LEDGER, Ledger("C1"))
    assert not any(manifest.partitions for manifest in manifests_for_others(lake))
