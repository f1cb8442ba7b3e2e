"""A table made by hand, file by file, for the oracle's own tests: what is wrong in it was planted there."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from tests.faults.harness.producer import Acks
from tests.faults.oracle.evidence import Evidence, TableEvidence
from tests.faults.oracle.kafka_log import KafkaLog, LogKey
from tests.faults.oracle.stamps import Stamp, checksum, write_stamp
from tests.faults.oracle.stored_state import Position
from tests.faults.oracle.table_files import Metadata, Snapshot, TableFiles
from tests.faults.oracle.watcher import Sample
from tests.support.runs.poison import Poison, spoiled

GROUP, TOPIC, TABLE, DEAD_LETTERS = "connect-planted", "topic", "db.t", "db.letters"
LOG = LogKey(TOPIC, "T1", 0)

_FILE = {
    "type": "record",
    "name": "data_file",
    "fields": [
        {"name": "content", "type": "int"},
        {"name": "file_path", "type": "string"},
        {"name": "record_count", "type": "long"},
        {"name": "file_size_in_bytes", "type": "long"},
    ],
}
_MANIFEST = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        {"name": "status", "type": "int"},
        {"name": "snapshot_id", "type": ["null", "long"]},
        {"name": "data_file", "type": _FILE},
    ],
}
_LIST = {
    "type": "record",
    "name": "manifest_file",
    "fields": [{"name": "manifest_path", "type": "string"}, {"name": "added_snapshot_id", "type": "long"}],
}
_HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_LETTER = pa.schema(
    [
        *[(name, pa.string()) for name in ("topic", "topic_id", "kind", "table", "stage", "reason")],
        *[(name, pa.int64()) for name in ("partition", "offset")],
        *[(name, pa.binary()) for name in ("key", "value")],
        ("headers", _HEADERS),
    ]
)


def stamp(offset: int) -> Stamp:
    """Return the stamp of the record at an offset."""
    return Stamp("run", TOPIC, offset)


@dataclass
class Planted:
    """A topic of one partition and a table that holds it; records at ``offsets``, those of ``tombstones`` without value."""

    folder: Path
    offsets: Sequence[int] = tuple(range(30))
    kafka: KafkaLog = field(default_factory=KafkaLog)
    acks: Acks = field(default_factory=Acks)
    snapshots: list[Snapshot] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    held: list[tuple[int, int]] = field(default_factory=list)
    position: Position = field(default_factory=lambda: Position(30, "T1"))
    dead_letters: Planted | None = None
    _manifests: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for offset in self.offsets:
            self.kafka.put(LOG, offset, write_stamp(stamp(offset), "pad"))
            self.acks.places[stamp(offset)] = (TOPIC, 0, offset)

    def commit(
        self, start: int, end: int, rows: Iterable[Stamp] | None = None, crc: int | None = None, **summary: str
    ) -> str:
        """Add a snapshot for the offsets ``[start, end)`` with their rows, or others; return its data file.

        Records that are spoiled by then have no row.
        """
        good = [stamp(o) for o in self.offsets if start <= o < end and stamp(o) not in self.acks.poison]
        stamps = list(rows) if rows is not None else good
        path = str(self.folder / f"{uuid.uuid4().hex}.parquet")
        columns = [{**s._asdict(), "pad": "pad", "crc": crc or checksum(s, "pad")} for s in stamps]
        pq.write_table(pa.Table.from_pylist(columns), path)
        self.refer([path], [len(stamps)], self._summary(start, end, len(stamps)) | summary)
        self.held.append((start, end))
        return path

    def refer(self, paths: Sequence[str], counts: Sequence[int], summary: dict[str, str]) -> None:
        """Add a snapshot that adds files."""
        snapshot_id = len(self.snapshots) + 1
        manifest = str(self.folder / f"manifest-{snapshot_id}.avro")
        entries: list[dict[str, Any]] = [
            {
                "status": 1,
                "snapshot_id": snapshot_id,
                "data_file": {
                    "content": 0,
                    "file_path": path,
                    "record_count": count,
                    "file_size_in_bytes": Path(path).stat().st_size,
                },
            }
            for path, count in zip(paths, counts, strict=True)
        ]
        _write(manifest, _MANIFEST, entries)
        self._manifests.append((manifest, snapshot_id))
        manifest_list = str(self.folder / f"list-{snapshot_id}.avro")
        _write(manifest_list, _LIST, [{"manifest_path": path, "added_snapshot_id": by} for path, by in self._manifests])
        parent = snapshot_id - 1 or None
        self.snapshots.append(Snapshot(snapshot_id, parent, snapshot_id, manifest_list, summary))

    def spoil(self, *offsets: int) -> None:
        """Make records bad: they must become letters."""
        for offset in offsets:
            self.acks.poison[stamp(offset)] = Poison(spoiled(), "coerce", "column 'n'")

    def add_dead_letters(self, *offsets: int, held: tuple[int, int] = (0, 30), **changes: Any) -> None:
        """Add a snapshot of letters of the table, or of other letters."""
        self.dead_letters = self.dead_letters or Planted(self.folder / "letters", ())
        self.dead_letters.folder.mkdir(exist_ok=True)
        rows = [{**_letter(offset), **changes} for offset in offsets]
        path = str(self.dead_letters.folder / f"{uuid.uuid4().hex}.parquet")
        pq.write_table(pa.Table.from_pylist(rows, schema=_LETTER), path)
        summary = self.dead_letters._summary(*held, len(rows))
        self.dead_letters.refer([path], [len(rows)], summary)
        self.dead_letters.held.append(held)

    def evidence(self, **more: Any) -> Evidence:
        """Return it as the oracle sees it."""
        dead_letters = {} if self.dead_letters is None else {"dead_letters": self.dead_letters._table(DEAD_LETTERS)}
        given: dict[str, Any] = {
            "group": GROUP,
            "kafka": self.kafka,
            "acks": [self.acks],
            "files": TableFiles(),
            "tables": [self._table(TABLE)],
            "positions": {(TOPIC, 0): self.position},
            "samples": self.samples,
            **dead_letters,
            **more,
        }
        return Evidence(**given)

    def _table(self, name: str) -> TableEvidence:
        ledger = {"floe": 1, "logs": [[*LOG, {"route": self.held}, None, None]]}
        metadata = Metadata(
            location="",
            table_uuid="",
            table_location=str(self.folder),
            properties={f"floe.ledger.{GROUP}.main": json.dumps(ledger)},
            snapshots={s.snapshot_id: s for s in self.snapshots},
            refs={"main": len(self.snapshots)},
        )
        return TableEvidence(name, metadata, tuple(self.snapshots))

    def _summary(self, start: int, end: int, rows: int) -> dict[str, str]:
        total = sum(int(s.summary.get("added-records", 0)) for s in self.snapshots) + rows
        visible = [o for o in self.offsets if start <= o < end]
        counts = {"routed": len(visible), "invisible": end - start - len(visible)}
        return {
            "floe.group": GROUP,
            "floe.net": json.dumps({TOPIC: {"id": "T1", "ranges": [[0, start, end]]}}),
            "floe.books": json.dumps({"ranges": [[TOPIC, 0, start, end, counts]], "table": {"rows": rows}}),
            "added-records": str(rows),
            "total-records": str(total),
            f"kafka.connect.offsets.control.{GROUP}": json.dumps({"0": len(self.snapshots)}),
        }


def _letter(offset: int) -> dict[str, Any]:
    value = write_stamp(stamp(offset), "pad")
    fields = {"topic": TOPIC, "topic_id": "T1", "partition": 0, "offset": offset, "kind": "dead", "value": value}
    return {**fields, "table": TABLE, "stage": "coerce", "reason": "column 'n': no"}


def _write(path: str, schema: dict[str, Any], records: Sequence[dict[str, Any]]) -> None:
    with Path(path).open("wb") as stream:
        fastavro.writer(stream, fastavro.parse_schema(schema), records)
