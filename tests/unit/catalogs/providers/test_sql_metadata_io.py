"""Metadata files, read and written: the same as PyIceberg's, whatever the snapshots are like."""

import copy
import gc
import gzip
import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import ValidationError
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile, ToOutputFile
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot, Summary

from floe.catalogs.providers.sql_metadata_io import read_metadata, snapshot_of, write_metadata

USUAL = {
    "snapshot-id": 7,
    "parent-snapshot-id": 6,
    "sequence-number": 3,
    "timestamp-ms": 1_700_000_000_000,
    "manifest-list": "file:///lake/snap-7.avro",
    "summary": {"operation": "append", "floe.net": '{"ö": [[0, 1]]}', "total-records": "1"},
    "schema-id": 0,
}
UNUSUAL: dict[str, dict[str, Any]] = {
    "no parent": {"parent-snapshot-id": None},
    "no schema": {"schema-id": None},
    "no summary": {"summary": None},
    "an operation of no name": {"summary": {"floe.net": "{}"}},
    "numbers as text": {"snapshot-id": "7", "timestamp-ms": "1700000000000"},
    "row lineage": {"first-row-id": 5, "added-rows": 2},
    "no sequence number": {"sequence-number": None},
    "another field": {"key-id": "k"},
    "true for a number": {"schema-id": True},
}
METADATA: dict[str, Any] = {
    "format-version": 2,
    "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
    "location": "file:///lake/rpc/pizzas",
    "last-sequence-number": 3,
    "last-updated-ms": 1_700_000_000_000,
    "last-column-id": 1,
    "current-schema-id": 0,
    "schemas": [
        {
            "type": "struct",
            "schema-id": 0,
            "fields": [{"id": 1, "name": "sauce", "required": False, "type": "string", "doc": "ö"}],
        }
    ],
    "default-spec-id": 1,
    "partition-specs": [
        {"spec-id": 0, "fields": []},
        {"spec-id": 1, "fields": [{"source-id": 1, "field-id": 1000, "name": "sauce", "transform": "bucket[4]"}]},
    ],
    "last-partition-id": 1000,
    "default-sort-order-id": 1,
    "sort-orders": [
        {
            "order-id": 1,
            "fields": [{"transform": "identity", "source-id": 1, "direction": "asc", "null-order": "nulls-first"}],
        }
    ],
    "properties": {"owner": "me", "floe.ledger.connect-pizzas.main": "{}"},
    "current-snapshot-id": 7,
    "refs": {
        "main": {"snapshot-id": 7, "type": "branch", "min-snapshots-to-keep": 3},
        "v1": {"snapshot-id": 7, "type": "tag", "max-ref-age-ms": 5},
    },
    "snapshots": [USUAL],
    "snapshot-log": [{"snapshot-id": 7, "timestamp-ms": 1_700_000_000_000}],
    "metadata-log": [{"metadata-file": "file:///lake/00000.metadata.json", "timestamp-ms": 1_600_000_000_000}],
    "statistics": [
        {
            "snapshot-id": 7,
            "statistics-path": "file:///lake/7.puffin",
            "file-size-in-bytes": 4,
            "file-footer-size-in-bytes": 2,
            "blob-metadata": [],
        }
    ],
}
IO = PyArrowFileIO()


def with_all(text: bytes, folder: Path, name: str = "a.metadata.json") -> str:
    (folder / name).write_bytes(text)
    return f"file://{folder}/{name}"


def as_pyiceberg_writes(metadata: TableMetadata, folder: Path) -> Any:
    location = f"file://{folder}/theirs.metadata.json"
    ToOutputFile.table_metadata(metadata, IO.new_output(location))
    return json.loads((folder / "theirs.metadata.json").read_bytes())


@pytest.mark.parametrize("changed", UNUSUAL.values(), ids=UNUSUAL.keys())
def test_a_snapshot_is_what_pyiceberg_makes_of_it(changed: dict[str, Any]) -> None:
    fields = {**USUAL, **changed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert snapshot_of(copy.deepcopy(fields)) == Snapshot.model_validate(fields)


def test_a_snapshot_can_do_what_a_validated_one_can() -> None:
    theirs, ours = Snapshot.model_validate(USUAL), snapshot_of(copy.deepcopy(USUAL))
    assert vars(ours).keys() == vars(theirs).keys()
    assert (repr(ours), str(ours), ours) == (repr(theirs), str(theirs), theirs)
    assert ours.model_dump_json() == theirs.model_dump_json()
    assert pickle.loads(pickle.dumps(ours)) == theirs  # noqa: S301 - its own
    assert copy.deepcopy(ours) == theirs
    copied = ours.model_copy(update={"parent_snapshot_id": None})
    assert (copied.parent_snapshot_id, ours.parent_snapshot_id) == (None, 6)
    assert snapshot_of(USUAL).model_fields_set == set(Snapshot.model_fields)
    assert isinstance(ours.summary, Summary)
    assert (ours.summary["total-records"], len(ours.summary)) == ("1", len(theirs.summary or ()))


def test_the_fields_that_it_was_made_of_stay_as_they_were() -> None:
    fields = copy.deepcopy(USUAL)
    snapshot_of(fields)
    assert fields == USUAL


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("changed", [{}, *UNUSUAL.values()], ids=["usual", *UNUSUAL])
def test_a_file_is_read_as_pyiceberg_reads_it(tmp_path: Path, version: int, changed: dict[str, Any]) -> None:
    fields = {**METADATA, "format-version": version, "snapshots": [{**USUAL, **changed, "snapshot-id": 7}]}
    if version == 1:
        fields["schema"], fields["partition-spec"] = fields["schemas"][0], []
    location = with_all(json.dumps(fields).encode(), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert read_metadata(IO.new_input(location)).metadata == FromInputFile.table_metadata(IO.new_input(location))


@pytest.mark.parametrize("left_out", ["snapshots", "refs", "metadata-log", "statistics", "current-snapshot-id"])
def test_a_file_may_lack_what_it_may_lack(tmp_path: Path, left_out: str) -> None:
    fields = {name: value for name, value in METADATA.items() if name != left_out}
    location = with_all(json.dumps(fields).encode(), tmp_path)
    assert read_metadata(IO.new_input(location)).metadata == FromInputFile.table_metadata(IO.new_input(location))


def test_a_packed_file_is_read_and_written(tmp_path: Path) -> None:
    location = with_all(gzip.compress(json.dumps(METADATA).encode()), tmp_path, "a.gz.metadata.json")
    metadata, snapshots = read_metadata(IO.new_input(location))
    again = f"file://{tmp_path}/b.gz.metadata.json"
    write_metadata(IO.new_output(again), metadata, snapshots)
    assert FromInputFile.table_metadata(IO.new_input(again)) == metadata


@pytest.mark.parametrize("known", [True, False])
def test_a_file_holds_what_pyiceberg_would_write(tmp_path: Path, known: bool) -> None:
    metadata, snapshots = read_metadata(IO.new_input(with_all(json.dumps(METADATA).encode(), tmp_path)))
    write_metadata(IO.new_output(f"file://{tmp_path}/b.metadata.json"), metadata, snapshots if known else {})
    assert json.loads((tmp_path / "b.metadata.json").read_bytes()) == as_pyiceberg_writes(metadata, tmp_path)


def test_a_table_without_a_snapshot_is_written_as_pyiceberg_does(tmp_path: Path) -> None:
    fields = {**METADATA, "snapshots": [], "refs": {}, "current-snapshot-id": -1, "snapshot-log": [], "statistics": []}
    metadata, snapshots = read_metadata(IO.new_input(with_all(json.dumps(fields).encode(), tmp_path)))
    write_metadata(IO.new_output(f"file://{tmp_path}/b.metadata.json"), metadata, snapshots)
    assert json.loads((tmp_path / "b.metadata.json").read_bytes()) == as_pyiceberg_writes(metadata, tmp_path)


def test_what_pyiceberg_does_not_know_of_a_snapshot_is_kept(tmp_path: Path) -> None:
    fields = {**METADATA, "snapshots": [{**USUAL, "key-id": "k"}]}
    metadata, snapshots = read_metadata(IO.new_input(with_all(json.dumps(fields).encode(), tmp_path)))
    write_metadata(IO.new_output(f"file://{tmp_path}/b.metadata.json"), metadata, snapshots)
    assert json.loads((tmp_path / "b.metadata.json").read_bytes())["snapshots"][0]["key-id"] == "k"


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b'{"format-version": 2}', b'{"format-version": 9}', b"\xff"])
def test_what_is_no_metadata_is_an_error(tmp_path: Path, text: bytes) -> None:
    with pytest.raises((ValueError, ValidationError, AttributeError)):
        read_metadata(IO.new_input(with_all(text, tmp_path)))


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    location = with_all(json.dumps(METADATA).encode(), tmp_path)
    metadata, snapshots = read_metadata(IO.new_input(location))
    with pytest.raises(FileExistsError):
        write_metadata(IO.new_output(location), metadata, snapshots)


def test_what_somebody_else_has_frozen_stays_frozen(tmp_path: Path) -> None:
    location = with_all(json.dumps(METADATA).encode(), tmp_path)
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        read_metadata(IO.new_input(location))
        assert gc.get_freeze_count() > before / 2  # some may be gone
    finally:
        gc.unfreeze()
    read_metadata(IO.new_input(location))
    assert gc.isenabled()
    assert not gc.get_freeze_count()
