"""What the records of a run failed of, read back from the dead letters that the run committed."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.config.secrets.mask import clip
from floe.control.announcement import Announcement, TableFiles
from floe.model.dead_letters import DeadLetterKind, DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.offsets import OffsetRange, PartitionLog
from floe.model.plan import Plan
from floe.status.connector_status import ConnectorStatus
from floe.status.record import DeadLetterReason, DeadLetterSample, StatusRecord
from floe.status.tables import Found, TableReader
from floe.tables.open_dead_letters import rows_filter

_COLUMN = "error"
_UNNAMED = "without a reason"


def reasons_of(tables: CatalogClient, plan: Plan, announcements: Iterable[Announcement]) -> Mapping[str, int]:
    """Count the records that became dead letters in a run, by error, the most frequent first.

    The announcements of a redrive contain them. Of others, one column of the files is read that they added to the
    dead-letter table, nothing where they added none. Raises what the catalog and the store raise.
    """
    counted: Counter[str] = Counter()
    all_table_files: list[TableFiles] = []
    for announcement in announcements:
        counted.update(announcement.reasons)
        if not announcement.reasons:
            all_table_files += [files for files in announcement.files if files.table == plan.dead_letters]
    if all_table_files:
        table = tables.require(all_table_files[0].table)
        with tables.reading(all_table_files[0].table):
            for table_files in all_table_files:
                counted.update(_in_files(table, table_files))
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))


def _in_files(table: Table, table_files: TableFiles) -> Counter[str]:
    counted: Counter[str] = Counter()
    for file in (file for spec in table_files.files for file in spec.files):
        with table.io.new_input(file.file_path).open() as stream, pq.ParquetFile(stream) as parquet:
            if _COLUMN not in parquet.schema_arrow.names:
                counted[_UNNAMED] += parquet.metadata.num_rows
                continue
            for batch in parquet.iter_batches(columns=[_COLUMN]):
                values = pc.value_counts(pc.fill_null(batch.column(0).cast(pa.large_string()), _UNNAMED))
                counted.update({one["values"]: one["counts"] for one in values.to_pylist()})
    return counted


# The open dead letters of a connector by reason, with the newest of each as samples.


MAX_ROWS: Final = 200_000
"""Rows of a dead-letter table that is read. A larger one is left to SQL."""

MAX_REASONS: Final = 20
MAX_SAMPLES: Final = 3
MAX_VALUE: Final = 256
"""Reasons, samples of each, and bytes of a sample's value."""

LEAST: Final = timedelta(seconds=50)
MOST: Final = timedelta(hours=1)
"""Time between two look-ups: the least after a commit to the table, which a person may wait for, and the most without one."""

CLOCKS: Final = timedelta(minutes=1)
"""By how much the clocks of two hosts may differ."""

_TEXT: Final = 300
_COLUMNS: Final = ("topic", "topic_id", "partition", "offset", "table", "stage", "error", "reason", "connector")

_Place = tuple[str | None, LogId, int]
_Why = tuple[str, str, str]
"""Table, stage and error of a dead letter; empty texts where it has none."""


def is_due(former: StatusRecord | None, status: ConnectorStatus, table: str | None, now: datetime) -> bool:
    """Return whether the dead letters are to be looked up again: reading their table costs.

    They are, if they never were; after a commit of the connector to their table, but not more often than ``LEAST``; and
    after ``MOST``, since others may have written to it.
    """
    if table is None:
        return False
    if former is None or former.dead_letters_at is None:
        return True
    age = now - former.dead_letters_at
    committed = next((one.committed_at for one in status.tables or () if one.name == table), None)
    is_changed = committed is not None and committed > former.dead_letters_at - CLOCKS
    return age >= MOST or (age >= LEAST and is_changed) or age < timedelta()


def open_dead_letters(
    reader: TableReader, found: Mapping[str, Found], logs: Sequence[PartitionLog]
) -> tuple[tuple[DeadLetterReason, ...], DeadLetterOffsets]:
    """Read the dead-letter table: the open ones by reason, the most frequent first, and by table and offset.

    Raises what the catalog and the store raise.
    """
    name = reader.connector.errors.table or ""
    table = found.get(name)
    if not isinstance(table, Table):
        return (), DeadLetterOffsets()
    places = reader.open_dead_letters(found, logs)
    if not places:
        return (), places
    with reader.tables.reading(name):
        rows = _Rows(table, reader.routes.branch(name), reader.connector.name, places)
        return rows.reasons(), places


def size_problem(name: str, table: Found) -> str | None:
    """Return what is wrong with a table of more than ``MAX_ROWS`` rows, by its newest snapshot."""
    if not isinstance(table, Table):
        return None
    snapshot = table.metadata.current_snapshot()
    summary = snapshot.summary.additional_properties if snapshot is not None and snapshot.summary is not None else {}
    text = summary.get("total-records", "")
    rows = int(text) if text.isdecimal() and len(text) < 20 else 0
    if rows <= MAX_ROWS:
        return None
    return f"dead letters were not looked up: {name!r} has {rows:,} rows, floe.status reads {MAX_ROWS:,}; count them by SQL"


@dataclass
class _Group:
    """The dead letters of one reason: how many, and the newest (offset, place, message)."""

    count: int = 0
    newest: list[tuple[int, str, int, str]] = field(default_factory=list)

    def add(self, topic: str, partition: int, offset: int, message: str) -> None:
        self.count += 1
        entry = (offset, topic, partition, message)
        if len(self.newest) < MAX_SAMPLES:
            heapq.heappush(self.newest, entry)
        else:
            heapq.heappushpop(self.newest, entry)


class _Rows:
    """Rows of the dead-letter table about places that are open."""

    def __init__(self, table: Table, branch: str, connector: str, places: DeadLetterOffsets) -> None:
        refs = table.metadata.refs
        ref = refs.get(branch) or refs.get("main")
        self._table = table
        self._snapshot_id = None if ref is None else ref.snapshot_id
        self._connector = connector
        self._places = places

    def reasons(self) -> tuple[DeadLetterReason, ...]:
        groups = self._groups()
        frequent = heapq.nsmallest(MAX_REASONS, groups.items(), key=lambda item: (-item[1].count, item[0]))
        values = self._values([one for _, group in frequent for one in group.newest])
        made = [
            DeadLetterReason(
                *why, group.count, tuple(_sample(one, values) for one in sorted(group.newest, reverse=True))
            )
            for why, group in frequent
        ]
        others = len(groups) - len(frequent)
        if others:
            left = sum(group.count for group in groups.values()) - sum(one.count for one in made)
            made.append(DeadLetterReason("", "", f"{others} more reasons", left))
        return tuple(made)

    def _groups(self) -> dict[_Why, _Group]:
        groups: dict[_Why, _Group] = {}
        seen: set[_Place] = set()
        for row in self._scan(_COLUMNS):
            log_id = LogId(row["topic"], row["topic_id"] or "", row["partition"])
            place = (row["table"], log_id, row["offset"])
            if place in seen or not self._places.at(row["table"], log_id).has(row["offset"]):
                continue
            seen.add(place)
            why = (clip(row["table"] or "", _TEXT), clip(row["stage"] or "", _TEXT), clip(row["error"] or "", _TEXT))
            message = clip(row["reason"] or "", _TEXT)
            groups.setdefault(why, _Group()).add(log_id.topic, log_id.partition, row["offset"], message)
        return groups

    def _values(self, samples: Sequence[tuple[int, str, int, str]]) -> dict[tuple[str, int, int], bytes | None]:
        """Read the values of some records; the first that is found of each."""
        wanted = {(topic, partition, offset) for offset, topic, partition, _ in samples}
        offsets = ", ".join(str(offset) for _, _, offset in sorted(wanted))
        values: dict[tuple[str, int, int], bytes | None] = {}
        for row in self._scan(("topic", "partition", "offset", "value", "connector"), f" and offset in ({offsets})"):
            place = (row["topic"], row["partition"], row["offset"])
            if place in wanted:
                values.setdefault(place, row["value"])
        return values

    def _scan(self, columns: Sequence[str], more: str = "") -> Iterator[dict[str, Any]]:
        ranges = [
            OffsetRange(*log_id, start, end) for _, log_id, offsets in self._places for start, end in offsets.spans
        ]
        for topic, topic_id in Counter((r.topic, r.topic_id) for r in ranges):
            of_topic = [r for r in ranges if (r.topic, r.topic_id) == (topic, topic_id)]
            condition = f"{rows_filter(of_topic)} and kind = '{DeadLetterKind.DEAD}'{more}"
            scan = self._table.scan(condition, selected_fields=tuple(columns), snapshot_id=self._snapshot_id)
            for batch in scan.to_arrow_batch_reader():
                for row in batch.to_pylist():
                    if row["connector"] in (self._connector, None):
                        yield row


def _sample(one: tuple[int, str, int, str], values: Mapping[tuple[str, int, int], bytes | None]) -> DeadLetterSample:
    offset, topic, partition, message = one
    value = values.get((topic, partition, offset))
    shown = None if value is None else value[:MAX_VALUE].hex()
    return DeadLetterSample(topic, partition, offset, message, shown, 0 if value is None else len(value))
