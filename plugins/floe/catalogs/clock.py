"""The times that floe writes into tables. They never go back, even if the clock of a host does.

Java's ``TableMetadata`` refuses metadata whose times step back by more than a minute (`Expected sorted snapshot log
entries`). Spark, Trino and Flink could never open the table again.
"""

import logging
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import AddSnapshotUpdate, TableUpdate

log = logging.getLogger(__name__)

MAX_SKEW = 60_000
"""Milliseconds by which a table's last time may be ahead of this host's clock before a warning is logged."""

DAY = 24 * 60 * 60 * 1000


def now_ms() -> int:
    """Return the time of day of this host, in epoch ms. All of floe's times in tables come from here."""
    return int(time.time() * 1000)


def last_time(metadata: TableMetadata) -> int:
    """Return the last time, in epoch ms, in a table's metadata. No later time may be before it."""
    changes = [entry.timestamp_ms for entry in metadata.snapshot_log[-1:]]
    versions = [entry.timestamp_ms for entry in metadata.metadata_log[-1:]]
    return max([int(metadata.last_updated_ms), *changes, *versions])


def next_time(table: str, metadata: TableMetadata) -> int:
    """Return the time of the next change of a table, in epoch ms: now, but always after the last one.

    Logs a warning with both times if the last one is more than a minute ahead of this host's clock.
    """
    now, last = now_ms(), last_time(metadata)
    if last - now > DAY:
        log.warning(
            "table %s: its last change is of %s, more than a day ahead of this host's clock (%s). The clock of a host that "
            "commits to it was or is wrong. The next change gets a time 1 ms after the last one; ages of snapshots count "
            "from the newest of them",
            table,
            _shown(last),
            _shown(now),
        )
    elif last - now > MAX_SKEW:
        log.warning(
            "table %s: its last change is of %s, this host's clock says %s: one of the two clocks is wrong. The next "
            "change gets a time 1 ms after the last one",
            table,
            _shown(last),
            _shown(now),
        )
    return max(now, last + 1)


def age_of(timestamp: int, newest: int) -> int:
    """Return the age of a snapshot in ms. ``timestamp``, ``newest``: its time, and that of the newest, in epoch ms.

    If the newest is more than a day ahead of this host's clock, the age of snapshots ahead of the clock is counted from the
    newest: by the clock they would never expire. The age of all others is counted from the clock: by the newest they would
    all expire at once.
    """
    now = now_ms()
    is_ahead = newest - now > DAY and timestamp > now
    return (newest if is_ahead else now) - timestamp


def dated(updates: Sequence[TableUpdate], table: str, metadata: TableMetadata) -> tuple[TableUpdate, ...]:
    """Return updates whose snapshots are of a time after the table's last one."""
    if not any(isinstance(update, AddSnapshotUpdate) for update in updates):
        return tuple(updates)
    moment = next_time(table, metadata)
    return tuple(_dated(update, moment) if isinstance(update, AddSnapshotUpdate) else update for update in updates)


def _dated(update: AddSnapshotUpdate, moment: int) -> AddSnapshotUpdate:
    snapshot = update.snapshot.model_copy(update={"timestamp_ms": moment})
    return update.model_copy(update={"snapshot": snapshot})


def with_risen_times(updated: TableMetadata, present: TableMetadata, table: str) -> TableMetadata:
    """Return updated metadata whose own times are after those of ``present``, from which it was made."""
    is_changed = updated.metadata_log[-1:] != present.metadata_log[-1:]
    if not is_changed or updated.last_updated_ms > last_time(present):
        return updated
    moment = next_time(table, present)
    known = len(present.snapshot_log)
    new = [entry.model_copy(update={"timestamp_ms": moment}) for entry in updated.snapshot_log[known:]]
    entries = [*updated.snapshot_log[:known], *new]
    return updated.model_copy(update={"last_updated_ms": moment, "snapshot_log": entries})


def _shown(moment: int) -> str:
    try:
        return datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return f"{moment} ms"  # beyond the year 9999
