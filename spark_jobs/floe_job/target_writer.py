"""One task's rows for one table: records are decoded to its columns, written, and counted."""

from collections.abc import Sequence

from floe.control.announcement import SpecFiles
from floe.control.data_files import from_pyiceberg, partition_type_of
from floe.crash import CrashPoint, reach
from floe.offsets.books import TableBooks
from floe.offsets.intervals import Intervals
from floe_job.decode import Decoded, JsonDecoder, Rejected
from floe_job.exceptions import BadRecords, WriteFailed
from floe_job.needs import SchemaNeeds
from floe_job.parquet import TableWriter
from floe_job.target import Piece, TableResult, Target

NAMED_BAD_RECORDS = 5


class TargetWriter:
    """Takes records in the order of their offsets; the files are there after ``close``."""

    def __init__(self, target: Target, task_index: int) -> None:
        self._target = target
        self._task_index = task_index
        schema = target.metadata.schema() if target.metadata is not None else None
        self._decoder = JsonDecoder(schema, evolve=target.evolve, create=target.metadata is None)
        self._writer: TableWriter | None = None
        self._assigned = self._held = self._owed = 0

    @property
    def name(self) -> str:
        return self._target.name

    @property
    def needs(self) -> SchemaNeeds:
        """The columns that the table lacks."""
        return self._decoder.needs

    def take(self, piece: Piece, offsets: Sequence[int], values: Sequence[bytes]) -> None:
        """Make rows of the records that the table does not hold yet. Raises BadRecords, WriteFailed."""
        self._assigned += len(values)
        if piece.range in self._target.owed:
            self._owed += len(values)
            return
        held = self._target.held.get(piece.range, Intervals())
        if held:
            kept = [i for i, offset in enumerate(offsets) if not held.has(offset)]
            self._held += len(values) - len(kept)
            offsets, values = [offsets[i] for i in kept], [values[i] for i in kept]
        if not values:
            return
        decoded = self._decoder.decode(values)
        if decoded.rejected:
            raise BadRecords(_bad_records(self.name, piece, offsets, decoded.rejected, len(values)))
        try:
            self._write(decoded)
        except OSError as error:
            raise WriteFailed(_write_message(self._target, error)) from error

    def close(self, *, complete: bool) -> TableResult:
        """Close the files and count their rows from their footers; without ``complete`` nothing is kept."""
        if not complete:
            self.abort()
            return TableResult(needs=self._decoder.needs or None)
        try:
            files, rows = self._close()
        except OSError as error:
            raise WriteFailed(_write_message(self._target, error)) from error
        return TableResult(TableBooks(assigned=self._assigned, rows=rows, held=self._held, owed=self._owed), files)

    def abort(self) -> None:
        """Drop what is not closed yet."""
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def _write(self, decoded: Decoded) -> None:
        """Write rows, until a column turns out to be missing: then the task only reads on."""
        if self._decoder.needs:
            self.abort()
            return
        if decoded.table is not None and decoded.table.num_rows:
            if self._writer is None:
                self._writer = self._open()
            self._writer.write(decoded.table)

    def _open(self) -> TableWriter:
        target = self._target
        if target.metadata is None or target.io is None:
            msg = f"table {target.name!r} has rows but no metadata"
            raise AssertionError(msg)
        return TableWriter(
            metadata=target.metadata,
            io=target.io,
            schema=target.metadata.schema(),
            spec=target.metadata.spec(),
            properties=dict(target.properties),
            name_hint=f"{self._task_index:05d}",
        )

    def _close(self) -> tuple[SpecFiles | None, int]:
        if self._writer is None:
            return None, 0
        metadata = self._target.metadata
        assert metadata is not None  # noqa: S101 - a writer was opened from it
        reach(CrashPoint.WRITE_FILES)
        files = self._writer.close()
        reach(CrashPoint.WRITE_FILES_CLOSED)
        self._writer = None
        spec = metadata.spec()
        partition_type = partition_type_of(spec, metadata.schema())
        events = tuple(from_pyiceberg(file, partition_type, spec.spec_id) for file in files)
        return SpecFiles(spec.spec_id, partition_type, events), sum(file.record_count for file in files)


def _bad_records(table: str, piece: Piece, offsets: Sequence[int], rejected: tuple[Rejected, ...], count: int) -> str:
    tp = piece.range.tp
    named = "; ".join(
        f"topic {tp.topic!r} partition {tp.partition} offset {offsets[r.index]}: {r.reason}"
        for r in rejected[:NAMED_BAD_RECORDS]
    )
    more = f" (the first {NAMED_BAD_RECORDS} are named)" if len(rejected) > NAMED_BAD_RECORDS else ""
    return (
        f"{len(rejected)} of the {count} records just read cannot become rows of table {table!r}{more}: {named}. "
        "Nothing was announced and "
        "the position stays. Mend the table or the producer's next records; how to step over one that cannot be mended "
        "stands in docs/how-it-works.md."
    )


def _write_message(target: Target, error: OSError) -> str:
    where = target.metadata.location if target.metadata is not None else target.name
    return (
        f"data files of table {target.name!r} could not be written below {where!r}: {error}. Check that Spark's workers "
        "may write there and that there is room; nothing was announced."
    )
