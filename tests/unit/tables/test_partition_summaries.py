"""Summaries of partitions in manifest lists: none of UUIDs, and zeros that every reader finds."""

from __future__ import annotations

import struct
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform
from pyiceberg.types import DoubleType, FloatType, IcebergType, NestedField, UUIDType

from floe.model.ledger import Ledger
from floe.modes.replace import replace_files
from floe.parquet import TableWriter
from floe.parquet.arrow_shapes import storage_type
from floe.tables.row_removal import Removal
from floe.tables.snapshot_commit import SpecFile, append, commit_snapshot
from tests.support.tables.lake import LEDGER, TABLE, Lake

UUIDS = [UUID("018f6b2e-0001-7000-8000-000000000001").bytes, UUID("ff613e30-d8f1-4adf-91b7-584a2265b1f1").bytes]


def create(lake: Lake, of: IcebergType, how: Transform[Any, Any]) -> Table:
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


def manifests(lake: Lake) -> list[ManifestFile]:
    table = lake.of_others(TABLE)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.manifests(table.io)


@pytest.mark.parametrize(("how", "is_told"), [(IdentityTransform(), False), (BucketTransform(4), True)])
def test_uuid_partitions_have_no_summaries(lake: Lake, how: Transform[Any, Any], is_told: bool) -> None:
    table = create(lake, UUIDType(), how)
    append(table, "main", files(table, UUIDS), {}, LEDGER, Ledger("C1"))
    (manifest,) = manifests(lake)
    assert bool(manifest.partitions) == is_told
    again = lake.load()
    one = min((task.file for task in again.scan().plan_files()), key=lambda file: file.file_path)
    change = replace_files(again, "main", {}, (), Removal((one,), tuple(files(again, UUIDS[:1])), 1))
    commit_snapshot(again, "main", change, LEDGER, Ledger("C1"))
    assert {bool(one.partitions) for one in manifests(lake)} == {is_told}
    assert lake.load().scan().to_arrow().num_rows == 2


@pytest.mark.parametrize(("of", "code"), [(FloatType(), "<f"), (DoubleType(), "<d")])
@pytest.mark.parametrize(
    ("values", "bounds"), [([0.0], (-0.0, 0.0)), ([-1.5, -0.0], (-1.5, 0.0)), ([0.0, 2.5], (-0.0, 2.5))]
)
def test_zeros_in_summaries_are_below_and_above(
    lake: Lake, of: IcebergType, code: str, values: list[float], bounds: tuple[float, float]
) -> None:
    table = create(lake, of, IdentityTransform())
    append(table, "main", files(table, values), {}, LEDGER, Ledger("C1"))
    ((summary,),) = (manifest.partitions or () for manifest in manifests(lake))
    assert (summary.lower_bound, summary.upper_bound) == tuple(struct.pack(code, bound) for bound in bounds)


def test_summaries_of_earlier_commits_are_corrected(lake: Lake) -> None:
    table = create(lake, UUIDType(), IdentityTransform())
    with lake.of_others(TABLE).transaction() as transaction, transaction.update_snapshot().fast_append() as foreign:
        for spec_file in files(table, UUIDS):
            foreign.append_data_file(spec_file.file)
    assert all(manifest.partitions for manifest in manifests(lake))
    again = lake.load()
    append(again, "main", files(again, UUIDS), {}, LEDGER, Ledger("C1"))
    assert not any(manifest.partitions for manifest in manifests(lake))
