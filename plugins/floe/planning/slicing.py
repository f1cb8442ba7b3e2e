"""The planner: from resolved positions and log ends to the slices of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from operator import or_
from sys import maxsize

from floe.model.exceptions import PlanRefused
from floe.model.ledger import Ledger
from floe.model.offsets import Intervals, OffsetRange, PartitionLog, TopicPartition
from floe.model.plan import Slice, SliceKind, limit_of, smaller
from floe.model.positions import LIVE, LeaderEpoch, Position
from floe.planning.replay_request import Overlap

MAX_SLICES = 1000
"""Of one replay: each is a Spark job and a snapshot in each table."""

NewOffsets = Mapping[OffsetRange, Intervals]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a replay means for one table and one range, in offsets.

    ``read``: of the partition, for all tables. ``held``: in the table already; None where that is not known, as records name
    the table or it refuses. ``write``: records or not; with ``skip`` those that are not in the table, else all.
    """

    table: str
    range: OffsetRange
    read: int
    held: int | None
    write: int


def new_offsets_of(
    table: str, ledger: Ledger | None, ranges: Sequence[OffsetRange], route: str, overlap: Overlap
) -> NewOffsets:
    """Return the offsets of each range that a replay writes to one table; a table without ledger gets all.

    Raises PlanRefused when it is to skip offsets that the table contains under another route hash: which of their rows
    the table has cannot be determined.
    """
    whole = {r: Intervals.of([(r.start, r.end)]) for r in ranges}
    if ledger is None or overlap is not Overlap.SKIP:
        return whole
    for r in ranges:
        elsewhere = ledger.elsewhere(r, route)
        if elsewhere:
            msg = (
                f"table {table!r} contains the offsets {_listed(elsewhere)} of {r.tp} under other routes: the connector "
                "was changed since, or a Kafka Connect sink wrote them. floe cannot determine which of the rows it "
                "contains. Nothing was read. Restrict `ranges` to the others, or set overlap to replace, which removes its "
                "rows of the range, or to append, which adds all rows of the range again"
            )
            raise PlanRefused(msg, code="FLOE-303")
    return {r: ledger.new_offsets(r, route) for r in ranges}


def cut(
    ranges: Sequence[OffsetRange], new_ranges: Sequence[NewOffsets], limit: int | None
) -> tuple[tuple[OffsetRange, ...], ...]:
    """Return the ranges of each slice: at most ``limit`` offsets, a partition at most once, in order of offset.

    ``new_ranges``: new offsets, one per table. What no table lacks is not read, unless it is between what a slice reads.
    Raises PlanRefused above MAX_SLICES.
    """
    slices = _Slices(maxsize if limit is None else limit)
    for r in ranges:
        for start, end in reduce(or_, (new_offsets[r] for new_offsets in new_ranges), Intervals()):
            slices.take(r, start, end)
    return slices.close()


class _Slices:
    """Slices under construction; the last one has ``room`` for more offsets."""

    def __init__(self, limit: int) -> None:
        self._limit = self._room = limit
        self._done: list[tuple[OffsetRange, ...]] = []
        self._open: dict[TopicPartition, OffsetRange] = {}

    def take(self, r: OffsetRange, start: int, end: int) -> None:
        while start < end:
            begun = self._open.get(r.tp)
            first = begun.start if begun else start
            gap = start - begun.end if begun else 0
            if gap >= self._room:
                self.close()
                continue
            until = min(end, start + self._room - gap)
            self._open[r.tp] = OffsetRange(r.topic, r.topic_id, r.partition, first, until)
            self._room -= gap + until - start
            start = until

    def close(self) -> tuple[tuple[OffsetRange, ...], ...]:
        if self._open:
            self._done.append(tuple(self._open.values()))
        if len(self._done) > MAX_SLICES:
            msg = (
                f"the replay would be cut into more than {MAX_SLICES} slices of {self._limit} records, each a Spark job and "
                "a snapshot: raise max_records, or replay a smaller range"
            )
            raise PlanRefused(msg, code="FLOE-304")
        self._open, self._room = {}, self._limit
        return tuple(self._done)


def forecast(
    ranges: Sequence[OffsetRange],
    slices: Sequence[Sequence[OffsetRange]],
    new_ranges: Mapping[str, NewOffsets],
    held: Mapping[str, Mapping[OffsetRange, int]],
) -> tuple[Forecast, ...]:
    """Return what each table gets of each range; ``held``: offsets that tables contain, of those where it is known."""
    read: dict[TopicPartition, int] = {}
    for r in chain.from_iterable(slices):
        read[r.tp] = read.get(r.tp, 0) + len(r)
    return tuple(
        Forecast(table, r, read.get(r.tp, 0), held[table][r] if table in held else None, new_offsets[r].offsets)
        for table, new_offsets in new_ranges.items()
        for r in ranges
    )


def _listed(offsets: Intervals, most: int = 5) -> str:
    spans = [f"[{start}, {end})" for start, end in offsets]
    return ", ".join(spans[:most]) + (f" and {len(spans) - most} more spans" if len(spans) > most else "")


def cut_slices(
    positions: Sequence[Position], logs: Sequence[PartitionLog], tables: Sequence[str], limit: int | None
) -> tuple[Slice, ...]:
    """Return what a run reads: one slice of what is new, and one for each table that is behind.

    ``tables``: those of the connector, none where records name them. ``limit``: offsets at most, for each slice; a
    smaller one that the positions have for a slice counts. A partition that every table is behind on has no new part
    before they have caught up.
    """
    backlogs = {p.tp: p.backlogs for p in positions}
    ready = [p for p in positions if not tables or not all(table in backlogs[p.tp] for table in tables)]
    live = allocate(ready, logs, smaller(limit, limit_of(positions, LIVE)))
    parts = [(SliceKind.LIVE, live, tuple(tables))] if live else []
    ends = {p.tp: p.offset for p in positions} | {r.tp: r.end for r in live}
    log_of = {log.tp: log for log in logs}
    for table in sorted({table for of_partition in backlogs.values() for table in of_partition}):
        starts = {tp: of_partition[table].start for tp, of_partition in backlogs.items() if table in of_partition}
        most = smaller(limit, limit_of(positions, table))
        shares = fair_shares({tp: ends[tp] - start for tp, start in starts.items()}, most)
        ranges = tuple(
            OffsetRange(tp.topic, log_of[tp].topic_id, tp.partition, start, start + shares[tp])
            for tp, start in starts.items()
            if shares[tp] > 0
        )
        if ranges:
            parts.append((SliceKind.CATCH_UP, ranges, (table,)))
    return tuple(Slice(i, *part) for i, part in enumerate(parts))


def with_epochs(
    positions: Sequence[Position], logs: Sequence[PartitionLog], slices: Sequence[Slice]
) -> tuple[Position, ...]:
    """Return the positions with the leader epoch of each log, up to the end of what is planned, now or before.

    An earlier run may have committed to its tables what it had planned, and not the position.
    """
    epochs = {log.tp: log.epoch for log in logs}
    ends: dict[TopicPartition, int] = {}
    for r in chain.from_iterable(slice_.ranges for slice_ in slices):
        ends[r.tp] = max(r.end, ends.get(r.tp, 0))
    return tuple(_with_epoch(p, epochs[p.tp], ends.get(p.tp, 0)) for p in positions)


def _with_epoch(position: Position, number: int | None, end: int) -> Position:
    metadata = position.metadata_fields
    if number is None:
        return position
    planned = metadata.epoch.end if metadata.epoch is not None else 0
    epoch = LeaderEpoch(number, max(position.offset, planned, end))
    return replace(position, metadata=replace(metadata, epoch=epoch).encode())


def allocate(positions: Iterable[Position], logs: Sequence[PartitionLog], limit: int | None) -> tuple[OffsetRange, ...]:
    """Give each partition its fair share of at most ``limit`` offsets; only partitions with something new appear.

    A partition with less than its share leaves the rest to the others, so that one hot partition cannot starve them.
    """
    log_of = {log.tp: log for log in logs}
    offsets = {p.tp: p.offset for p in positions}
    shares = fair_shares({tp: log_of[tp].stable_end - offset for tp, offset in offsets.items()}, limit)
    return tuple(
        OffsetRange(tp.topic, log_of[tp].topic_id, tp.partition, offset, offset + shares[tp])
        for tp, offset in offsets.items()
        if shares[tp] > 0
    )


def fair_shares(lags: Mapping[TopicPartition, int], limit: int | None) -> dict[TopicPartition, int]:
    """Cut ``limit`` into shares by max-min fairness, in whole offsets; without a limit everyone gets all."""
    if limit is None or sum(lags.values()) <= limit:
        return dict(lags)
    shares: dict[TopicPartition, int] = {}
    left = limit
    waiting = sorted(lags, key=lambda tp: (lags[tp], tp))
    for i, tp in enumerate(waiting):
        shares[tp] = min(lags[tp], left // (len(waiting) - i))
        left -= shares[tp]
    return shares
