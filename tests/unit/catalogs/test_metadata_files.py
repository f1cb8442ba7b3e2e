"""Metadata files are read as PyIceberg reads them, only faster."""

import gc
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.exceptions import ValidationError
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile

from floe.catalogs import metadata_files
from floe.catalogs.metadata_files import read_metadata

UUID = "9c12d441-03fe-4693-9a96-a0705ddf69c1"
COLUMN = {"id": 1, "name": "kafka_offset", "required": False, "type": "long", "doc": "an offset"}
LIST = {"type": "list", "element-id": 3, "element-required": True, "element": "decimal(9, 2)"}
SCHEMA = {"type": "struct", "schema-id": 0, "fields": [COLUMN, {"id": 2, "name": "l", "required": False, "type": LIST}]}
PARTITION = {"source-id": 1, "field-id": 1000, "name": "p", "transform": "bucket[4]"}
SNAPSHOT = {
    "snapshot-id": 3051729675574597004,
    "sequence-number": 1,
    "timestamp-ms": 1_700_000_000_000,
    "manifest-list": "file:///t/metadata/snap-1.avro",
    "summary": {"operation": "append", "floe.group": "connect-growth", "total-records": "5"},
    "schema-id": 0,
}
STATISTICS = {
    "snapshot-id": 3051729675574597004,
    "statistics-path": "file:///t/metadata/s.puffin",
    "file-size-in-bytes": 5,
    "file-footer-size-in-bytes": 2,
    "blob-metadata": [],
}
LATER = {
    "format-version": 2,
    "table-uuid": UUID,
    "location": "file:///t",
    "last-sequence-number": 1,
    "last-updated-ms": 1_700_000_000_001,
    "last-column-id": 3,
    "schemas": [SCHEMA],
    "current-schema-id": 0,
    "partition-specs": [{"spec-id": 0, "fields": [PARTITION]}],
    "default-spec-id": 0,
    "last-partition-id": 1000,
    "sort-orders": [{"order-id": 0, "fields": []}],
    "default-sort-order-id": 0,
    "properties": {"floe.ledger.g.main": '{"a": 1}', "n": 5},
    "current-snapshot-id": SNAPSHOT["snapshot-id"],
    "snapshots": [SNAPSHOT],
    "snapshot-log": [{"snapshot-id": SNAPSHOT["snapshot-id"], "timestamp-ms": 1_700_000_000_000}],
    "metadata-log": [{"metadata-file": "file:///t/metadata/0.json", "timestamp-ms": 1_600_000_000_000}],
    "refs": {"v1": {"snapshot-id": SNAPSHOT["snapshot-id"], "type": "tag", "max-ref-age-ms": 9}},
    "statistics": [STATISTICS],
    "unknown-field": {"a": [1, None]},
}
FIRST = {
    "format-version": 1,
    "table-uuid": UUID,
    "location": "file:///t",
    "last-updated-ms": 1_700_000_000_001,
    "last-column-id": 3,
    "schema": SCHEMA,
    "partition-spec": [PARTITION],
    "properties": {},
    "current-snapshot-id": -1,
    "snapshots": [],
}
NO_SNAPSHOT = {**LATER, "current-snapshot-id": -1, "snapshots": [], "snapshot-log": [], "refs": {}, "statistics": []}
WHOLE = {"format 2": LATER, "format 1": FIRST, "no snapshot": NO_SNAPSHOT}

NO_METADATA = {
    "no JSON": b"<html>",
    "cut": json.dumps(LATER).encode()[:-9],
    "no object": b"5",
    "null": b"null",
    "a list": b"[]",
    "no version": b"{}",
    "another version": json.dumps({**LATER, "format-version": 9}).encode(),
    "no location": json.dumps({k: v for k, v in LATER.items() if k != "location"}).encode(),
    "no such schema": json.dumps({**LATER, "current-schema-id": 7}).encode(),
    "no such snapshot": json.dumps({**LATER, "snapshots": [{"snapshot-id": "x"}]}).encode(),
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[bytes, str], Any]:
    def write(content: bytes, name: str = "v1.metadata.json") -> Any:
        (tmp_path / name).write_bytes(content)
        return PyArrowFileIO().new_input(f"file://{tmp_path / name}")

    return write


@pytest.fixture
def thawed() -> Iterator[None]:
    metadata_files._has_frozen.cache_clear()
    yield
    gc.unfreeze()
    metadata_files._has_frozen.cache_clear()


@pytest.mark.parametrize("fields", WHOLE.values(), ids=WHOLE)
def test_metadata_is_read_as_pyiceberg_reads_it(write: Callable[..., Any], fields: dict[str, Any]) -> None:
    file = write(json.dumps(fields).encode())
    ours, theirs = read_metadata(file), FromInputFile.table_metadata(file)
    assert type(ours) is type(theirs)
    assert ours == theirs
    assert ours.model_dump_json() == theirs.model_dump_json()


def test_a_compressed_file_is_read(write: Callable[..., Any]) -> None:
    file = write(gzip.compress(json.dumps(LATER).encode()), "v1.gz.metadata.json")
    assert read_metadata(file) == FromInputFile.table_metadata(file)


@pytest.mark.parametrize("content", NO_METADATA.values(), ids=NO_METADATA)
def test_what_is_no_metadata_is_a_validation_error(write: Callable[..., Any], content: bytes) -> None:
    with pytest.raises(ValidationError):
        read_metadata(write(content))


def test_garbage_collection_goes_on_after_a_read(write: Callable[..., Any]) -> None:
    with pytest.raises(ValidationError):
        read_metadata(write(b"{}"))
    assert gc.isenabled()
    assert read_metadata(write(json.dumps(LATER).encode())).snapshots
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


@pytest.mark.usefixtures("thawed")
def test_what_a_process_froze_stays_frozen(write: Callable[..., Any]) -> None:
    gc.freeze()
    frozen = gc.get_freeze_count()
    read_metadata(write(json.dumps(LATER).encode()))
    assert gc.get_freeze_count() > frozen / 2


def test_snapshots_that_were_read_are_old_objects(write: Callable[..., Any]) -> None:
    many = [{**SNAPSHOT, "snapshot-id": i + 1} for i in range(500)]
    fields = {**NO_SNAPSHOT, "snapshots": many}
    metadata = read_metadata(write(json.dumps(fields).encode()))
    old = {id(one) for one in gc.get_objects(generation=2)}
    assert sum(id(snapshot) in old for snapshot in metadata.snapshots) == len(metadata.snapshots)
