"""An Iceberg table read from its files alone: metadata JSON, manifest lists and manifests by fastavro, rows by pyarrow.

It shares no code with floe and none with PyIceberg, so that neither can hide its own mistakes.
"""

from __future__ import annotations

import json
import sqlite3
import urllib.error
import urllib.parse
import urllib.request
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import fastavro
import pyarrow.parquet as pq

from tests.faults.oracle.kafka_log import LogKey, digest_of
from tests.faults.oracle.stamps import COLUMNS, Stamp, check_stamp

DELETED = 2
"""Status of a manifest entry whose file is no longer in the table."""
ADDED = 1
METADATA_KEPT = 8
STORES: dict[str, Callable[[str], Path]] = {}
"""How objects of a bucket are found as files, by their keys."""


class Pointer(Protocol):
    """Where a catalog says that a table's present metadata is."""

    def location(self) -> str | None:
        """Return the location of the present metadata file; None when the table does not exist."""
        ...


@dataclass(frozen=True)
class SqlPointer:
    """A table in PyIceberg's SQL catalog, as its SQLite file has it."""

    database: Path
    catalog: str
    table: str

    def location(self) -> str | None:
        """Ask the database."""
        if not self.database.exists():
            return None
        namespace, _, name = self.table.rpartition(".")
        query = (
            "SELECT metadata_location FROM iceberg_tables "
            "WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?"
        )
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=30)) as database:
            try:
                row = database.execute(query, (self.catalog, namespace, name)).fetchone()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return None
                raise
        return str(row[0]) if row else None


@dataclass(frozen=True)
class RestPointer:
    """A table in a REST catalog."""

    uri: str
    table: str

    def location(self) -> str | None:
        """Ask the server."""
        namespace, _, name = self.table.rpartition(".")
        url = f"{self.uri}/v1/namespaces/{urllib.parse.quote(namespace)}/tables/{urllib.parse.quote(name)}"
        url += "?snapshots=refs"  # the location is all that is asked for
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - http, on loopback
                return str(json.loads(answer.read())["metadata-location"])
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise


class FileEntry(NamedTuple):
    """One data file as a manifest lists it."""

    path: str
    records: int
    size: int
    status: int
    added_by: int
    content: int


@dataclass(frozen=True)
class Snapshot:
    """One snapshot of one table."""

    snapshot_id: int
    parent_id: int | None
    sequence_number: int
    manifest_list: str
    summary: dict[str, str]


@dataclass(frozen=True)
class Metadata:
    """One version of a table's metadata."""

    location: str
    table_uuid: str
    table_location: str
    properties: dict[str, str]
    snapshots: dict[int, Snapshot]
    refs: dict[str, int]

    def head(self, branch: str = "main") -> Snapshot | None:
        """Return the newest snapshot of a branch."""
        snapshot_id = self.refs.get(branch)
        return None if snapshot_id is None else self.snapshots[snapshot_id]

    def history(self, branch: str = "main") -> Iterator[Snapshot]:
        """Yield a branch's snapshots from its head backwards, as far as they are there."""
        snapshot = self.head(branch)
        while snapshot is not None:
            yield snapshot
            snapshot = self.snapshots.get(snapshot.parent_id) if snapshot.parent_id is not None else None


@dataclass(frozen=True)
class FileRows:
    """What one data file holds: a stamp for each row, ``BROKEN`` where the checksum is wrong."""

    stamps: tuple[Stamp, ...]
    size: int


class DeadLetter(NamedTuple):
    """One row of a table of dead letters. ``table``: whose row it could not become; None, no table's."""

    log: LogKey
    offset: int
    table: str | None
    kind: str
    stage: str
    reason: str
    digest: bytes


@dataclass
class TableFiles:
    """Reads metadata, manifests and rows, each file once: they never change."""

    _metadata: OrderedDict[str, Metadata] = field(default_factory=OrderedDict)
    _manifests: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    _entries: dict[str, list[FileEntry]] = field(default_factory=dict)
    _rows: dict[str, FileRows] = field(default_factory=dict)
    _dead_letters: dict[str, tuple[DeadLetter, ...]] = field(default_factory=dict)

    def metadata(self, location: str) -> Metadata:
        """Read a metadata file; only the last few are kept, each holds the whole history."""
        if location not in self._metadata:
            self._metadata[location] = _metadata(location, json.loads(local(location).read_bytes()))
            while len(self._metadata) > METADATA_KEPT:
                self._metadata.popitem(last=False)
        return self._metadata[location]

    def entries(self, snapshot: Snapshot) -> list[FileEntry]:
        """Return all entries of a snapshot's manifests, those of deleted files too."""
        found = []
        for manifest in self._manifest_list(snapshot.manifest_list):
            path = manifest["manifest_path"]
            if path not in self._entries:
                self._entries[path] = list(_entries(path, manifest))
            found += self._entries[path]
        return found

    def live(self, snapshot: Snapshot) -> list[FileEntry]:
        """Return the files that a snapshot consists of."""
        return [entry for entry in self.entries(snapshot) if entry.status != DELETED]

    def added(self, snapshot: Snapshot) -> list[FileEntry]:
        """Return the files that a snapshot added."""
        return [e for e in self.entries(snapshot) if e.status == ADDED and e.added_by == snapshot.snapshot_id]

    def rows(self, path: str) -> FileRows:
        """Read the stamps of a data file."""
        if path not in self._rows:
            file = local(path)
            columns = pq.read_table(file, columns=list(COLUMNS), partitioning=None).to_pydict()
            values = zip(*(columns[name] for name in COLUMNS), strict=True)
            stamps = tuple(check_stamp(*row) for row in values)
            self._rows[path] = FileRows(stamps, file.stat().st_size)
        return self._rows[path]

    def dead_letters(self, path: str) -> tuple[DeadLetter, ...]:
        """Read a data file of a table of dead letters."""
        if path not in self._dead_letters:
            rows = pq.read_table(local(path), partitioning=None).to_pylist()
            self._dead_letters[path] = tuple(_letter(row) for row in rows)
        return self._dead_letters[path]

    def _manifest_list(self, path: str) -> list[dict[str, Any]]:
        if path not in self._manifests:
            self._manifests[path] = list(_records(path))
        return self._manifests[path]


def local(location: str) -> Path:
    """Turn a location into a path: a ``file:`` one, or one of a bucket of ``STORES``."""
    if location.startswith("s3:"):
        bucket, _, key = location.removeprefix("s3://").partition("/")
        return STORES[bucket](key)
    return Path(urllib.parse.urlsplit(location).path if location.startswith("file:") else location)


def _letter(row: dict[str, Any]) -> DeadLetter:
    headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
    return DeadLetter(
        log=LogKey(row["topic"], row["topic_id"], row["partition"]),
        offset=row["offset"],
        table=row["table"],
        kind=row["kind"],
        stage=row["stage"],
        reason=row["reason"],
        digest=digest_of(row["key"], row["value"], headers),
    )


def _records(path: str) -> Iterator[dict[str, Any]]:
    with local(path).open("rb") as stream:
        for record in fastavro.reader(stream):
            assert isinstance(record, dict)
            yield record


def _entries(path: str, manifest: dict[str, Any]) -> Iterator[FileEntry]:
    for record in _records(path):
        file = record["data_file"]
        added_by = record["snapshot_id"]
        yield FileEntry(
            path=file["file_path"],
            records=file["record_count"],
            size=file["file_size_in_bytes"],
            status=record["status"],
            added_by=manifest["added_snapshot_id"] if added_by is None else added_by,
            content=file.get("content") or 0,
        )


def _metadata(location: str, fields: dict[str, Any]) -> Metadata:
    snapshots = {
        one["snapshot-id"]: Snapshot(
            snapshot_id=one["snapshot-id"],
            parent_id=one.get("parent-snapshot-id"),
            sequence_number=one.get("sequence-number", 0),
            manifest_list=one["manifest-list"],
            summary=one.get("summary", {}),
        )
        for one in fields.get("snapshots") or []
    }
    refs = {name: ref["snapshot-id"] for name, ref in (fields.get("refs") or {}).items()}
    current = fields.get("current-snapshot-id")
    if "main" not in refs and current not in (None, -1):
        refs["main"] = current
    return Metadata(
        location=location,
        table_uuid=fields["table-uuid"],
        table_location=fields["location"],
        properties=fields.get("properties") or {},
        snapshots=snapshots,
        refs=refs,
    )
