"""Pending events: files that the sink announced and that a table does not have, or the reason why they must wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.table import Table

from floe.catalogs.exceptions import CatalogUnreachable
from floe.control import headers as h
from floe.control.exceptions import EventDecodeError
from floe.control.topic_reader import ControlMessage
from floe.control.wire.codec import decode
from floe.control.wire.events import DataFile, DataWritten, PartitionType
from floe.tables.exceptions import AnnouncementVoid
from floe.tables.snapshot_summary import CommittedOffsets, Offsets
from floe.takeover.exceptions import TakeoverRefused

MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Bytes. The sink does not cut its events; brokers were set to take longer ones for tables with many partitions."""

START_IT = "Start the sink again until it has committed, stop it, then take over"
LEAVE_OUT = "docs/how-to/kafka-connect.md says how to leave them out"


class PendingFiles(NamedTuple):
    """Files of one table, announced by the sink at one offset of the control topic."""

    partition: int
    offset: int
    payload: DataWritten

    @property
    def table(self) -> str:
        reference = self.payload.table_reference
        return ".".join((*reference.namespace, reference.name))


class PendingFile(NamedTuple):
    """One announced file, with the type of its partition values."""

    file: DataFile
    partition_type: PartitionType


class Destination(NamedTuple):
    """A table that events name. ``uuid`` is None for one that does not exist; ``is_own``: the connector writes to it."""

    name: str
    uuid: UUID | None
    committed: CommittedOffsets
    is_own: bool


def written_by_sink(messages: Iterable[ControlMessage], group_id: str) -> Iterator[PendingFiles]:
    """Yield what the sink of one group announced; what floe announced itself is left out.

    Raises TakeoverRefused for a message that cannot be read: it may be one that counts.
    """
    for message in messages:
        if h.VERSION in message.headers:
            continue
        try:
            event = decode(message.value, MAX_EVENT_BYTES)
        except EventDecodeError as error:
            msg = (
                f"the message at {message.partition}@{message.offset} of the control topic cannot be read, and may hold "
                f"files of {group_id!r}: {error}. If it is not needed, {LEAVE_OUT}."
            )
            raise TakeoverRefused(msg, code="FLOE-706") from error
        if event.group_id == group_id and isinstance(event.payload, DataWritten):
            yield PendingFiles(message.partition, message.offset, event.payload)


def collect(
    written: Iterable[PendingFiles], destination: Callable[[str], Destination]
) -> dict[str, list[PendingFiles]]:
    """Sort events by table; those that their table has are dropped on the way."""
    found: dict[str, list[PendingFiles]] = {}
    for one in written:
        if one.offset >= destination(one.table).committed.offsets.get(one.partition, 0):
            found.setdefault(one.table, []).append(one)
    return found


def uncommitted(written: Iterable[PendingFiles], offsets: Offsets) -> list[PendingFiles]:
    """Return the events at or above a table's control offsets, as the sink's coordinator takes them."""
    return [one for one in written if one.offset >= offsets.get(one.partition, 0)]


def pending_of(table: Destination, written: Sequence[PendingFiles], coordinator: Offsets) -> list[PendingFiles]:
    """Return the events of one table that are to be committed.

    ``coordinator``: how far the sink's coordinator had finished with the control topic. Events below that, of a table
    that was missing or replaced, or is another's, it dropped permanently. Raises TakeoverRefused for events above that are of
    such a table, for events that floe cannot commit, and for events of which it is not known whether they were.
    """
    known = [one for one in written if one.payload.data_files or one.payload.delete_files]
    if not table.committed.is_known:
        _refuse_unknown(table, known, coordinator)
        known = uncommitted(known, coordinator)
    known = [one for one in known if _belongs(table, one) or one.offset >= coordinator.get(one.partition, 0)]
    strays = [one for one in known if not _belongs(table, one)]
    if strays:
        raise TakeoverRefused(_stray(table, strays), code="FLOE-706")
    for one in known:
        if one.payload.delete_files:
            msg = (
                f"{_where(one)} announces {len(one.payload.delete_files)} delete file(s) for table {table.name!r}: floe "
                f"writes no deletes. {START_IT}, with upserts turned off."
            )
            raise TakeoverRefused(msg, code="FLOE-706")
    return known


def files_of(written: Iterable[PendingFiles]) -> list[PendingFile]:
    """Return the files of events, each once and none without records, as the sink's coordinator takes them."""
    files: dict[str, PendingFile] = {}
    for one in written:
        for file in one.payload.data_files or ():
            if file.record_count > 0:
                files.setdefault(file.file_path, PendingFile(file, one.payload.partition_type))
    return list(files.values())


def check_no_gap(table: Destination, starts: Offsets, ends: Offsets, coordinator: Offsets) -> None:
    """Raise TakeoverRefused when the control topic no longer has, or never had, what the table's offsets refer to.

    ``starts``, ``ends``: of the control topic's partitions.
    """
    for partition, offset in table.committed.offsets.items():
        if offset > ends.get(partition, 0):
            msg = (
                f"table {table.name!r} has the control topic's partition {partition} up to {offset}, but that ends at "
                f"{ends.get(partition, 0)}: the topic was re-created. Files that were announced in the old one cannot be "
                "found, and the sink would skip all that it announces in the new one. Give iceberg.control.topic a new "
                "name, and see docs/how-to/kafka-connect.md, “A lost control topic”."
            )
            raise TakeoverRefused(msg, code="FLOE-705")
    for partition, start in starts.items():
        offset = table.committed.offsets.get(partition, 0)
        if max(offset, coordinator.get(partition, 0)) < start:
            msg = (
                f"partition {partition} of the control topic starts at offset {start}, but table {table.name!r} is "
                f"committed only up to {offset}, and the sink's coordinator was not ahead of it. Files announced in between, "
                "if any, were deleted by retention and were never committed. Nothing was changed. "
                f"{START_IT}; or, if no rows are missing, "
                "see docs/how-to/kafka-connect.md, “A lost control topic”."
            )
            raise TakeoverRefused(msg, code="FLOE-705")


def _belongs(table: Destination, one: PendingFiles) -> bool:
    wanted = one.payload.table_reference.table_uuid
    return table.is_own and table.uuid is not None and wanted in (None, table.uuid)


def _refuse_unknown(table: Destination, written: Sequence[PendingFiles], coordinator: Offsets) -> None:
    lost = [one for one in written if one.partition not in coordinator]
    if lost:
        msg = (
            f"{_where(lost[0])} announces files for table {table.name!r}, whose snapshots with its control offsets have "
            f"expired. floe cannot determine whether the files were committed. Nothing was changed. {START_IT} before its "
            "snapshots expire."
        )
        raise TakeoverRefused(msg, code="FLOE-706")


def _stray(table: Destination, strays: Sequence[PendingFiles]) -> str:
    count = sum(len(one.payload.data_files or ()) for one in strays)
    what = f"{count} announced file(s) (first at {_where(strays[0])}) are for table {table.name!r}, which "
    if not table.is_own:
        return (
            f"{what}is not in iceberg.tables: the connector was changed. {START_IT} with iceberg.tables as the sink had "
            f"it; or {LEAVE_OUT}."
        )
    if table.uuid is None:
        return f"{what}does not exist: {START_IT.lower()}, which drops them; or {LEAVE_OUT}."
    uuids = Counter(str(one.payload.table_reference.table_uuid) for one in strays)
    return (
        f"{what}was replaced since: they were written for the table of UUID {', '.join(uuids)}, its UUID is {table.uuid}. "
        f"Their rows are in no table. {START_IT}: it drops them; or {LEAVE_OUT}."
    )


def _where(one: PendingFiles) -> str:
    return f"the event at {one.partition}@{one.offset} of the control topic"


# Files that a Kafka Connect sink announced, compared with their own footers: any client may have announced them.
#
# The sink signs nothing. What a footer says can be produced only by writing into the table's folder.


PARALLELISM = 8


def check_footers(table: Table, name: str, files: Sequence[DataFile]) -> None:
    """Raise AnnouncementVoid unless each file is Parquet with the announced number of records."""
    with ThreadPoolExecutor(PARALLELISM) as pool:
        list(pool.map(lambda file: _check_footer(table, name, file), files))


def without_metrics(file: DataFile) -> DataFile:
    """Return a file without the bounds and counts of its columns, by which readers skip files.

    Readers do without them; false ones hide rows from every filter.
    """
    return replace(
        file,
        value_counts=None,
        null_value_counts=None,
        nan_value_counts=None,
        lower_bounds=None,
        upper_bounds=None,
    )


def _check_footer(table: Table, name: str, file: DataFile) -> None:
    try:
        with table.io.new_input(file.file_path).open() as stream:
            records = pq.ParquetFile(stream).metadata.num_rows
    except pa.ArrowInvalid as error:
        msg = f"{file.file_path!r} is announced for table {name!r} but is no Parquet file ({error})"
        raise AnnouncementVoid(msg) from error
    except OSError as error:
        msg = f"{file.file_path!r} was announced but could not be looked at ({type(error).__name__}: {error})"
        raise CatalogUnreachable(msg) from error
    if records != file.record_count:
        msg = (
            f"{file.file_path!r} is announced for table {name!r} with {file.record_count} records but has {records}: "
            "another writer than the sink announced it. Check who may write to the control topic"
        )
        raise AnnouncementVoid(msg)
