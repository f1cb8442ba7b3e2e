"""Data files between their events and PyIceberg."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus, write_manifest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.types import DateType, DecimalType, NestedField, TimestamptzType, UUIDType

from floe.control.data_files import from_pyiceberg, partition_type_of, to_pyiceberg
from floe.control.exceptions import DataFileConversionError
from floe.control.wire.events import DataFile, FileContent, PartitionFieldType, PartitionType
from tests.support.control.strategies import data_files, partition_types

NONE = PartitionType()
FILE = DataFile(file_path="s3://b/f.parquet", record_count=1, file_size_in_bytes=2, spec_id=0)
UNTIL_VERSION_3 = {
    "first_row_id": None,
    "referenced_data_file": None,
    "content_offset": None,
    "content_size_in_bytes": None,
}

SCHEMA = Schema(
    NestedField(1, "u", UUIDType()),
    NestedField(2, "at", TimestamptzType()),
    NestedField(3, "price", DecimalType(9, 2)),
    NestedField(4, "on", DateType()),
)
SPEC = PartitionSpec(
    PartitionField(1, 1000, IdentityTransform(), "u"),
    PartitionField(2, 1001, DayTransform(), "at_day"),
    PartitionField(3, 1002, IdentityTransform(), "price"),
    PartitionField(1, 1003, BucketTransform(8), "u_bucket"),
    spec_id=4,
)


@st.composite
def typed_files(draw: st.DrawFn) -> tuple[PartitionType, DataFile]:
    partition_type = draw(partition_types())
    file = draw(data_files(partition_type, list(FileContent)))
    return partition_type, file if file.spec_id is not None else replace(file, spec_id=0)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(typed_files())
def test_a_file_comes_back_from_pyiceberg_as_it_went(typed: tuple[PartitionType, DataFile]) -> None:
    partition_type, file = typed
    assert from_pyiceberg(to_pyiceberg(file, partition_type, format_version=3), partition_type) == file
    before = replace(
        file, first_row_id=None, referenced_data_file=None, content_offset=None, content_size_in_bytes=None
    )
    assert from_pyiceberg(to_pyiceberg(before, partition_type), partition_type) == before


def test_the_partition_type_is_that_of_the_spec() -> None:
    assert partition_type_of(SPEC, SCHEMA) == PartitionType(
        (
            PartitionFieldType(1000, "u", "uuid"),
            PartitionFieldType(1001, "at_day", "date"),
            PartitionFieldType(1002, "price", "decimal(9,2)"),
            PartitionFieldType(1003, "u_bucket", "int"),
        )
    )


def test_the_spec_id_is_kept() -> None:
    assert to_pyiceberg(replace(FILE, spec_id=7), NONE).spec_id == 7


def test_a_file_without_a_spec_id_needs_one() -> None:
    fresh = to_pyiceberg(replace(FILE, spec_id=None), NONE)
    with pytest.raises(DataFileConversionError, match="has no partition spec id"):
        from_pyiceberg(fresh, NONE)
    assert from_pyiceberg(fresh, NONE, spec_id=3).spec_id == 3


def test_a_uuid_that_pyiceberg_s_writer_holds_as_bytes_is_a_uuid() -> None:
    uuid = UUID(int=1)
    partition_type = PartitionType((PartitionFieldType(1000, "u", "uuid"),))
    fresh = to_pyiceberg(replace(FILE, partition=(uuid,)), partition_type)
    fresh.partition[0] = uuid.bytes
    assert from_pyiceberg(fresh, partition_type).partition == (uuid,)


def test_what_pyiceberg_cannot_hold_is_refused_by_name() -> None:
    with pytest.raises(DataFileConversionError, match="first_row_id=1, which PyIceberg holds in format version 3"):
        to_pyiceberg(replace(FILE, first_row_id=1), NONE)
    with pytest.raises(DataFileConversionError, match="format 'TEXT'"):
        to_pyiceberg(replace(FILE, file_format="TEXT"), NONE)
    with pytest.raises(DataFileConversionError, match=r"1 partition values for the fields \[\]"):
        to_pyiceberg(replace(FILE, partition=(1,)), NONE)


def test_partition_value_not_from_pyiceberg_is_refused() -> None:
    partition_type = PartitionType((PartitionFieldType(1000, "d", "date"),))
    file = to_pyiceberg(replace(FILE, partition=(0,)), partition_type)
    file.partition[0] = date(2024, 1, 2)
    with pytest.raises(DataFileConversionError, match="not how PyIceberg holds a date inside"):
        from_pyiceberg(file, partition_type)


def test_a_file_comes_back_from_a_manifest_as_it_went(tmp_path: Path) -> None:
    partition_type = partition_type_of(SPEC, SCHEMA)
    values = (UUID(int=5), 19_000, Decimal("-1.50"), 3)
    file = replace(
        FILE,
        partition=values,
        spec_id=4,
        column_sizes={1: 10, 2: 20},
        lower_bounds={1: b"a"},
        split_offsets=(4,),
        key_metadata=b"k",
        sort_order_id=0,
    )
    io = PyArrowFileIO()
    with write_manifest(2, SPEC, SCHEMA, io.new_output(str(tmp_path / "m.avro")), 1, "null") as writer:
        writer.add_entry(
            ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=1, data_file=to_pyiceberg(file, partition_type)
            )
        )
    (entry,) = writer.to_manifest_file().fetch_manifest_entry(io)
    assert from_pyiceberg(entry.data_file, partition_type) == file
