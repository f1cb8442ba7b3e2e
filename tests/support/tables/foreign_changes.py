"""What other programs do to the tables of a lake."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from tests.support.tables.lake import TABLE, Lake


def append_foreign(lake: Lake, *offsets: int, partition: int = 99, branch: str = "main") -> None:
    """Append rows as another program would, with PyIceberg's own append."""
    table = lake.of_others()
    rows = [{"kafka_partition": partition, "kafka_offset": offset, "sauce": "foreign"} for offset in offsets]
    table.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())), branch=branch)


def rewrite_metadata(lake: Lake, change: Callable[[dict[str, Any]], None]) -> None:
    """Put changed metadata in the place of the table's, as another engine may leave it."""
    table = lake.load()
    fields = json.loads(table.metadata.model_dump_json())
    replaced = {"metadata-file": table.metadata_location, "timestamp-ms": table.metadata.last_updated_ms}
    fields["metadata-log"] = [*fields.get("metadata-log", ()), replaced]
    change(fields)
    location = f"{table.location()}/metadata/99999-{uuid4()}.metadata.json"
    with table.io.new_output(location).create(overwrite=True) as stream:
        stream.write(json.dumps(fields).encode())
    catalog = lake.catalog()
    catalog.drop_table(TABLE)
    catalog.register_table(TABLE, location)


def roll_back(lake: Lake, snapshot_id: int, branch: str = "main") -> None:
    """Set a branch to a snapshot."""

    def change(metadata: dict[str, Any]) -> None:
        if branch == "main":
            metadata["current-snapshot-id"] = snapshot_id
        metadata["refs"][branch]["snapshot-id"] = snapshot_id

    rewrite_metadata(lake, change)


def expire_as_java_does(lake: Lake, *snapshot_ids: int) -> None:
    """Take snapshots out and leave the ids of parents that are gone, as Iceberg's own library does."""

    def change(metadata: dict[str, Any]) -> None:
        metadata["snapshots"] = [s for s in metadata["snapshots"] if s["snapshot-id"] not in snapshot_ids]
        metadata["snapshot-log"] = [e for e in metadata["snapshot-log"] if e["snapshot-id"] not in snapshot_ids]

    rewrite_metadata(lake, change)


def remove_older_metadata(lake: Lake) -> None:
    """Remove the metadata files of the table's log."""
    for entry in lake.load().metadata.metadata_log:
        Path(urlsplit(entry.metadata_file).path).unlink()
