"""Manifests and their lists: PyIceberg reads what floe writes, floe reads what others write, and what is none is named."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pytest
from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    read_manifest_list,
)
from pyiceberg.manifest import write_manifest_list as write_list_of_pyiceberg
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.catalogs import pyiceberg_patches
from floe.manifests.avro_schemas import FORMATS, entry_schema
from floe.manifests.manifest import UNASSIGNED, ManifestWriter, entry_of, existing
from floe.manifests.manifest_list import manifests_of, write_manifest_list

SNAPSHOT = 7
UUIDS = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), UUID("00000000-0000-0000-0000-000000000001")
VALUES: dict[IcebergType, tuple[Any, Any]] = {
    BooleanType(): (True, False),
    IntegerType(): (-(2**31), 2**31 - 1),
    LongType(): (-(2**63), 2**63 - 1),
    FloatType(): (-1.5, 0.25),
    DoubleType(): (-1e300, 5e-324),
    StringType(): ("", "ä\U0001f355"),
    BinaryType(): (b"", b"\0\xff"),
    FixedType(3): (b"abc", b"\0\0\0"),
    DateType(): (-719_162, 20_000),
    TimeType(): (0, 86_399_999_999),
    TimestampType(): (-62_135_596_800_000_000, 1),
    TimestamptzType(): (-1, 253_402_300_799_999_999),
    DecimalType(9, 2): (Decimal("-9999999.99"), Decimal("0.01")),
    DecimalType(38, 10): (Decimal("-9999999999999999999999999999.9999999999"), Decimal("0E-10")),
    UUIDType(): UUIDS,
}
"""Values of partition fields, as PyIceberg has them."""


@pytest.fixture
def files() -> FileIO:
    pyiceberg_patches.apply()  # PyIceberg reads doubles as floats
    return load_file_io({})


def data_file(path: str = "file:/t/a.parquet", partition: Record | None = None, **more: Any) -> DataFile:
    given: dict[str, Any] = {
        "content": DataFileContent.DATA,
        "file_path": path,
        "file_format": FileFormat.PARQUET,
        "partition": partition or Record(),
        "record_count": 3,
        "file_size_in_bytes": 999,
        "column_sizes": {1: 10},
        "value_counts": {1: 3},
        "null_value_counts": {1: 0},
        "nan_value_counts": {},
        "lower_bounds": {1: b"\1"},
        "upper_bounds": {1: b"\3"},
        "key_metadata": None,
        "split_offsets": [4, 500],
        "equality_ids": None,
        "sort_order_id": 0,
    }
    return DataFile.from_args(**given | more)


def writer(files: FileIO, schema: Schema, *, version: int = 2, codec: str = "gzip") -> ManifestWriter:
    return ManifestWriter(files, version, schema, SNAPSHOT, codec)


def snapshot(path: Path, *, parent: int | None = None) -> Snapshot:
    return Snapshot.model_validate(
        {"snapshot-id": SNAPSHOT, "parent-snapshot-id": parent, "manifest-list": str(path), "sequence-number": 4}
    )


PLAIN = Schema(NestedField(1, "id", LongType(), required=False), schema_id=3)
NO_SPEC = PartitionSpec(spec_id=0)


@pytest.mark.parametrize("version", FORMATS)
@pytest.mark.parametrize("of", VALUES, ids=str)
def test_pyiceberg_reads_each_partition_value_of_two_fields_of_a_type(
    tmp_path: Path, files: FileIO, of: IcebergType, version: int
) -> None:
    first, second = VALUES[of]
    schema = Schema(NestedField(1, "a", of, required=False), NestedField(2, "b-ä", of, required=False))
    spec = PartitionSpec(
        PartitionField(1, 1000, IdentityTransform(), "a"),
        PartitionField(2, 1001, IdentityTransform(), "b-ä"),
        spec_id=5,
    )
    partitions = (Record(first, second), Record(None, first), Record(second, None))
    path = str(tmp_path / "m.avro")
    one = writer(files, schema, version=version)
    entries = [one.added(data_file(f"file:/{i}", partition)) for i, partition in enumerate(partitions)]
    found = one.write(path, spec, entries)
    read = found.fetch_manifest_entry(files)
    assert [tuple(entry.data_file.partition[i] for i in (0, 1)) for entry in read] == [
        tuple(partition[i] for i in (0, 1)) for partition in partitions
    ]
    assert found.partitions is not None and len(found.partitions) == 2
    assert found.manifest_length == (tmp_path / "m.avro").stat().st_size


@pytest.mark.parametrize("of", VALUES, ids=str)
def test_schema_of_two_fields_of_a_type_is_one_that_avro_takes(tmp_path: Path, files: FileIO, of: IcebergType) -> None:
    spec = PartitionSpec(
        PartitionField(1, 1000, IdentityTransform(), "a"), PartitionField(2, 1001, IdentityTransform(), "b")
    )
    schema = Schema(NestedField(1, "a", of, required=False), NestedField(2, "b", of, required=True))
    made = writer(files, schema).write(str(tmp_path / "m.avro"), spec, [])
    with open(made.manifest_path, "rb") as file:  # noqa: PTH123
        text = fastavro.reader(file).metadata["avro.schema"]
    fastavro.parse_schema(json.loads(text))


@pytest.mark.parametrize("codec", ["gzip", "zstd", "uncompressed"])
def test_every_field_of_a_file_is_read_as_it_was_written(tmp_path: Path, files: FileIO, codec: str) -> None:
    path = str(tmp_path / "m.avro")
    given = [
        data_file(),
        data_file("file:/bare", column_sizes=None, value_counts=None, null_value_counts=None, nan_value_counts=None,
                  lower_bounds=None, upper_bounds=None, split_offsets=None, sort_order_id=None),
        data_file("file:/full", key_metadata=b"k", equality_ids=[1, 2], column_sizes={i: i for i in range(500)}),
    ]  # fmt: skip
    one = writer(files, PLAIN, codec=codec)
    found = one.write(path, NO_SPEC, [one.added(file) for file in given])
    assert [entry.data_file._data for entry in found.fetch_manifest_entry(files)] == [file._data for file in given]
    assert (found.added_files_count, found.added_rows_count, found.existing_files_count) == (3, 9, 0)
    with open(path, "rb") as file:  # noqa: PTH123
        metadata = fastavro.reader(file).metadata
    assert json.loads(metadata["schema"]) == json.loads(PLAIN.model_dump_json())
    assert (metadata["partition-spec-id"], metadata["content"], metadata["format-version"]) == ("0", "data", "2")


def test_codec_without_its_library_is_named(tmp_path: Path, files: FileIO) -> None:
    one = writer(files, PLAIN, codec="snappy")
    with pytest.raises(ValueError, match="snappy codec is supported but you need to install"):
        one.write(str(tmp_path / "m.avro"), NO_SPEC, [one.added(data_file())])
    assert list(tmp_path.iterdir()) == []


def test_unknown_codec_is_named(tmp_path: Path, files: FileIO) -> None:
    one = writer(files, PLAIN, codec="lzo")
    with pytest.raises(ValueError, match="'lzo', which is none of gzip, zstd, snappy, uncompressed"):
        one.write(str(tmp_path / "m.avro"), NO_SPEC, [one.added(data_file())])
    assert list(tmp_path.iterdir()) == []


def test_format_that_is_not_written_is_named(tmp_path: Path, files: FileIO) -> None:
    one = writer(files, PLAIN, version=3)
    with pytest.raises(ValueError, match="format version 3 are not written"):
        one.write(str(tmp_path / "m.avro"), NO_SPEC, [one.added(data_file())])
    assert list(tmp_path.iterdir()) == []


def test_dropped_column_of_a_spec_has_nulls(tmp_path: Path, files: FileIO) -> None:
    spec = PartitionSpec(PartitionField(9, 1000, DayTransform(), "day"), spec_id=1)
    one = writer(files, PLAIN)
    found = one.write(str(tmp_path / "m.avro"), spec, [one.added(data_file(partition=Record(None)))])
    (entry,) = found.fetch_manifest_entry(files)
    assert entry.data_file.partition[0] is None


def test_entries_keep_what_they_are_and_the_least_sequence_number_is_of_live_files(
    tmp_path: Path, files: FileIO
) -> None:
    one = writer(files, PLAIN)
    old = ManifestEntry(ManifestEntryStatus.ADDED, 5, 2, 2, data_file("file:/old"))
    going = ManifestEntry(ManifestEntryStatus.EXISTING, 4, 1, 1, data_file("file:/going"))
    found = one.write(str(tmp_path / "m.avro"), NO_SPEC, [existing(old), one.deleted(going), one.added(data_file())])
    read = found.fetch_manifest_entry(files, discard_deleted=False)
    assert [(e.status.name, e.snapshot_id, e.sequence_number) for e in read] == [
        ("EXISTING", 5, 2),
        ("DELETED", SNAPSHOT, 1),
        ("ADDED", SNAPSHOT, UNASSIGNED),
    ]
    assert (found.min_sequence_number, found.deleted_files_count, found.deleted_rows_count) == (2, 1, 3)


@pytest.mark.parametrize("status", ["EXISTING", "DELETED"])
def test_old_entry_without_a_sequence_number_is_refused(tmp_path: Path, files: FileIO, status: str) -> None:
    one = writer(files, PLAIN)
    with pytest.raises(ValueError, match=r"file:/t/a\.parquet has no sequence number"):
        one.write(str(tmp_path / "m.avro"), NO_SPEC, [entry_of(ManifestEntryStatus[status], SNAPSHOT, data_file())])


# -- lists ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", FORMATS)
def test_pyiceberg_reads_a_list_and_own_manifests_get_the_snapshots_number(
    tmp_path: Path, files: FileIO, version: int
) -> None:
    one = writer(files, PLAIN, version=version)
    own = one.write(str(tmp_path / "m.avro"), NO_SPEC, [one.added(data_file())])
    made = snapshot(tmp_path / "l.avro", parent=3)
    write_manifest_list(files, made.manifest_list, version, made, [own], "gzip")
    (read,) = read_manifest_list(files.new_input(made.manifest_list))
    (again,) = manifests_of(files, made)
    assert read._data == again._data
    number = 4 if version > 1 else 0
    assert (read.sequence_number, read.min_sequence_number, read.added_rows_count) == (number, number, 3)


@pytest.mark.parametrize("codec", ["null", "deflate", "zstandard", "bzip2"])
def test_list_of_pyiceberg_is_read_alike(tmp_path: Path, files: FileIO, codec: AvroCompressionCodec) -> None:
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"), spec_id=2)
    one = writer(files, PLAIN)
    manifest = one.write(str(tmp_path / "m.avro"), spec, [one.added(data_file(partition=Record(8)))])
    path = tmp_path / "l.avro"
    with write_list_of_pyiceberg(2, files.new_output(str(path)), SNAPSHOT, None, 4, codec) as out:
        out.add_manifests([manifest])
    (found,) = manifests_of(files, snapshot(path))
    (read,) = read_manifest_list(files.new_input(str(path)))
    assert found._data == read._data
    assert found.partitions is not None and found.partitions[0].lower_bound == (8).to_bytes(8, "little")


def test_manifest_of_another_snapshot_without_a_number_is_refused(tmp_path: Path, files: FileIO) -> None:
    one = ManifestWriter(files, 2, PLAIN, SNAPSHOT + 1, "gzip")
    other = one.write(str(tmp_path / "m.avro"), NO_SPEC, [one.added(data_file())])
    made = snapshot(tmp_path / "l.avro")
    with pytest.raises(ValueError, match="has no sequence number, though it is not a manifest of this snapshot"):
        write_manifest_list(files, made.manifest_list, 2, made, [other], "gzip")
    assert not (tmp_path / "l.avro").exists()


def test_fields_are_found_by_their_ids(tmp_path: Path, files: FileIO) -> None:
    fields: Mapping[str, tuple[int, str, Any]] = {
        "path": (500, "string", "file:/m"),
        "length": (501, "long", 10),
        "spec": (502, "int", 0),
        "added_data_files_count": (504, ["null", "int"], None),
    }
    schema = {
        "type": "record",
        "name": "manifest_file",
        "fields": [{"name": name, "type": of, "field-id": id_} for name, (id_, of, _) in fields.items()],
    }
    with (tmp_path / "l.avro").open("wb") as file:
        fastavro.writer(file, schema, [{name: value for name, (_, _, value) in fields.items()}])
    (found,) = manifests_of(files, snapshot(tmp_path / "l.avro"))
    assert (found.manifest_path, found.manifest_length, found.content) == ("file:/m", 10, ManifestContent.DATA)
    assert (found.sequence_number, found.added_files_count, found.has_added_files()) == (0, None, True)


def garbled() -> dict[str, bytes]:
    whole = io.BytesIO()
    schema = {"type": "record", "name": "r", "fields": [{"name": "x", "type": "long", "field-id": 1}]}
    fastavro.writer(whole, schema, [{"x": 1}], codec="deflate")
    data = whole.getvalue()
    return {
        "nothing": b"",
        "text": b"<html>no such bucket</html>",
        "cut header": data[:20],
        "cut block": data[:-20],
        "another file": data,
        "block that is no deflate stream": data[:-22] + b"\xff" * 6 + data[-16:],
        "schema that is none": data.replace(b'"long"', b'"lung"'),
        "codec that is unknown": data.replace(b"deflate", b"deflatf"),
    }


@pytest.mark.parametrize("what", garbled())
def test_what_is_no_list_is_named_with_its_path(tmp_path: Path, files: FileIO, what: str) -> None:
    path = tmp_path / "l.avro"
    path.write_bytes(garbled()[what])
    with pytest.raises(ValueError, match=r"l\.avro is (not an Avro file that can be read|no manifest list)"):
        manifests_of(files, snapshot(path))


def test_list_that_is_gone_is_an_error_of_the_store(tmp_path: Path, files: FileIO) -> None:
    with pytest.raises(FileNotFoundError):
        manifests_of(files, snapshot(tmp_path / "gone.avro"))


def test_pyiceberg_wrote_the_same_schema() -> None:
    """But for what Avro's parsers refuse, the schema is the one that PyIceberg, and Iceberg's Java library, write."""
    spec = PartitionSpec(PartitionField(1, 1000, IdentityTransform(), "id"))
    schema = entry_schema(2, spec.partition_type(PLAIN)).avro
    assert schema["name"] == "manifest_entry"
    (data,) = (one for one in schema["fields"] if one["field-id"] == 2)
    ids = {one["field-id"] for one in data["type"]["fields"]}
    assert ids == {100, 101, 102, 103, 104, 108, 109, 110, 125, 128, 131, 132, 134, 135, 137, 140}
