"""What the metadata tables of a table must show: as PyIceberg's ``inspect`` has it, or read from the manifests.

``inspect`` of PyIceberg 0.12 fails on files of tables with UUIDs. Of tables without, both are the same.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import chain
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, ManifestEntry, ManifestEntryStatus, ManifestFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import DateType, IcebergType, PrimitiveType, TimestampType, TimestamptzType, TimeType, UUIDType

Row = dict[str, Any]

INSPECTED = ("snapshots", "history", "refs", "manifests", "all_manifests", "metadata_log_entries")
READ = ("entries", "all_entries", "files", "data_files", "all_files", "all_data_files", "partitions")
EMPTY = ("delete_files", "all_delete_files", "position_deletes")
"""Without rows: floe writes no delete files."""

NAMES = (*INSPECTED, *READ, *EMPTY)
STRUCTS = ("data_file", "readable_metrics")
COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
BOUNDS = ("lower_bounds", "upper_bounds")

_SPARK_JSON = (
    "to_json(struct(*), map('ignoreNullFields', 'false', 'timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\", "
    "'timestampNTZFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\"))"
)


def spark_rows(table: Table, name: str, view: str) -> str:
    """Return a query of Spark's for the rows of a metadata table as JSON; its session's time zone is UTC.

    Iceberg's Java library 1.12.0 has UUIDs where it promises text, and Spark fails on them: their metrics and partitions
    are left out.
    """
    if name not in READ:
        return f"select {_SPARK_JSON} from {view}"  # noqa: S608
    schema, inside = table.schema(), "data_file." if name.endswith("entries") else ""
    fields = [one.name for one in table.spec().partition_type(schema).fields if isinstance(one.field_type, UUIDType)]
    left_out = [f"{inside}partition.{one}" for one in fields]
    if name != "partitions":
        names = (one for one in schema.column_names if isinstance(schema.find_type(one), UUIDType))
        left_out += [f"readable_metrics.`{one}`" for one in names]
    but = f"except ({', '.join(left_out)})" if left_out else ""
    return f"select {_SPARK_JSON} from (select * {but} from {view})"  # noqa: S608


def expected(table: Table, name: str) -> list[Row]:
    """Return the rows of a metadata table."""
    if name in EMPTY:
        return []
    return inspected(table, name) if name in INSPECTED else read(table, name)


def inspected(table: Table, name: str) -> list[Row]:
    """Return the rows of PyIceberg's ``inspect``."""
    rows = [_plain(row) for row in getattr(table.inspect, name)().to_pylist(maps_as_pydicts="strict")]
    if table.spec().fields and name in ("manifests", "all_manifests"):
        for row in rows:  # a manifest without summaries, as floe writes it for partitions of UUIDs
            row["partition_summaries"] = row["partition_summaries"] or None
    return rows


def read(table: Table, name: str) -> list[Row]:
    """Return the rows of one of ``READ``, from the manifests."""
    if name == "partitions":
        return [_plain(row) for row in _partitions(table)]
    manifests = _all_manifests(table) if name.startswith("all_") else _manifests(table)
    entries = chain.from_iterable(one.fetch_manifest_entry(table.io, discard_deleted=False) for one in manifests)
    if name.endswith("entries"):
        return [_plain(_entry_row(table, entry)) for entry in entries]
    present = (entry.data_file for entry in entries if entry.status != ManifestEntryStatus.DELETED)
    return [_plain(_file_row(table, file) | _metrics(table.schema(), file)) for file in present]


def from_spark(text: str) -> Row:
    """Return a row that Spark wrote for ``spark_rows``."""
    row: Row = json.loads(text, parse_float=Decimal)
    return row


def difference(found: list[Row], expected: list[Row]) -> list[str]:
    """Return the rows that only one side has; of ``found`` only the fields that are expected."""
    mine = {_key(common(row, expected[0]) if expected else row) for row in found}
    theirs = {_key(row) for row in expected}
    counted = [] if len(found) == len(expected) else [f"{len(found)} rows, expected {len(expected)}"]
    return [*counted, *(f"found    {one}" for one in mine - theirs), *(f"expected {one}" for one in theirs - mine)]


def _key(row: Row) -> str:
    return json.dumps(row, sort_keys=True, default=str)


def common(one: Row, other: Row) -> Row:
    """Return ``one`` with those of its fields that ``other`` has too, in the structs of files and of metrics as well."""
    kept = {name: value for name, value in one.items() if name in other}
    return {name: common(value, other[name]) if name in STRUCTS else value for name, value in kept.items()}


def _manifests(table: Table) -> list[ManifestFile]:
    head = table.current_snapshot()
    assert head is not None
    return head.manifests(table.io)


def _all_manifests(table: Table) -> Iterable[ManifestFile]:
    found = chain.from_iterable(one.manifests(table.io) for one in table.snapshots())
    return {one.manifest_path: one for one in found}.values()


def _entry_row(table: Table, entry: ManifestEntry) -> Row:
    return {
        "status": entry.status.value,
        "snapshot_id": entry.snapshot_id,
        "sequence_number": entry.sequence_number,
        "file_sequence_number": entry.file_sequence_number,
        "data_file": _file_row(table, entry.data_file),
        **_metrics(table.schema(), entry.data_file),
    }


def _file_row(table: Table, file: DataFile) -> Row:
    return {
        "content": file.content.value,
        "file_path": file.file_path,
        "file_format": file.file_format.value,
        "spec_id": file.spec_id,
        **({"partition": _partition(table, file)} if table.spec().fields else {}),
        "record_count": file.record_count,
        "file_size_in_bytes": file.file_size_in_bytes,
        **{name: dict(getattr(file, name) or {}) for name in (*COUNTS, *BOUNDS)},
        "split_offsets": file.split_offsets,
        "sort_order_id": file.sort_order_id,
    }


def _partition(table: Table, file: DataFile) -> Row:
    fields = table.specs()[file.spec_id].partition_type(table.schema()).fields
    return {
        field.name: _readable(field.field_type, file.partition[place])
        for place, field in enumerate(fields)
        if not isinstance(field.field_type, UUIDType)
    }


def _metrics(schema: Schema, file: DataFile) -> dict[str, Row]:
    return {"readable_metrics": {name: _metric(schema, file, name) for name in _leaves(schema)}}


def _leaves(schema: Schema) -> Iterator[str]:
    """Yield the names of primitive columns, inside of others too, whose metrics readers can show: not those of UUIDs."""
    kinds = ((name, schema.find_type(name)) for name in schema.column_names)
    return (name for name, kind in kinds if isinstance(kind, PrimitiveType) and not isinstance(kind, UUIDType))


def _metric(schema: Schema, file: DataFile, name: str) -> Row:
    field = schema.find_field(name)
    counts = {one.removesuffix("s"): (getattr(file, one) or {}).get(field.field_id) for one in COUNTS}
    bounds = {one.removesuffix("s"): (getattr(file, one) or {}).get(field.field_id) for one in BOUNDS}
    kind = field.field_type
    assert isinstance(kind, PrimitiveType)
    return counts | {
        one: None if bound is None else _readable(kind, from_bytes(kind, bound)) for one, bound in bounds.items()
    }


def _readable(kind: IcebergType, value: Any) -> Any:
    """Return the date or time of a number."""
    if isinstance(value, int) and isinstance(kind, DateType | TimeType | TimestampType | TimestamptzType):
        number = pa.scalar(value, pa.int32() if isinstance(kind, DateType) else pa.int64())
        return number.cast(schema_to_pyarrow(kind)).as_py()
    return value


def _partitions(table: Table) -> Iterator[Row]:
    """Yield a row for each partition; each is of one snapshot in these tables, or all are one partition."""
    entries = [entry for manifest in _manifests(table) for entry in manifest.fetch_manifest_entry(table.io)]
    by_partition: dict[str, list[ManifestEntry]] = {}
    for entry in entries:
        by_partition.setdefault(repr(_plain(_partition(table, entry.data_file))), []).append(entry)
    for some in by_partition.values():
        file = some[0].data_file
        # of each file counts the snapshot that added it
        added = [table.snapshot_by_id(entry.snapshot_id) for entry in some]
        newest = max((one for one in added if one is not None), key=lambda one: one.timestamp_ms)
        yield {
            **({"partition": _partition(table, file), "spec_id": file.spec_id} if table.spec().fields else {}),
            "record_count": sum(entry.data_file.record_count for entry in some),
            "file_count": len(some),
            "total_data_file_size_in_bytes": sum(entry.data_file.file_size_in_bytes for entry in some),
            **dict.fromkeys(("position_delete_record_count", "position_delete_file_count"), 0),
            **dict.fromkeys(("equality_delete_record_count", "equality_delete_file_count"), 0),
            "last_updated_at": datetime.fromtimestamp(newest.timestamp_ms / 1000, UTC),
            "last_updated_snapshot_id": newest.snapshot_id,
        }


def _plain(value: Any) -> Any:
    """Return a value as both sides have it: numbers as they are, all else as text, zone-less."""
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds")
    if isinstance(value, date | time | UUID):
        return str(value)
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else Decimal(repr(value))
    return value
