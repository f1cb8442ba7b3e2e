"""The planner: from settled positions and log ends to the slices of a run."""

from collections.abc import Iterable, Mapping, Sequence

from floe.offsets.logs import PartitionLog
from floe.offsets.plan import Slice, SliceKind
from floe.offsets.position import LIVE, Position
from floe.offsets.range_limits import limit_of, smaller
from floe.offsets.ranges import OffsetRange, TopicPartition


def cut_slices(
    positions: Sequence[Position], logs: Sequence[PartitionLog], tables: Sequence[str], limit: int | None
) -> tuple[Slice, ...]:
    """Return what a run reads: one slice of what is new, and one for each table that owes something.

    ``tables``: those of the connector, none where records name them. ``limit``: offsets at most, for each slice; a
    smaller one that the positions hold for a slice counts. A partition that every table is behind on has no new part
    before they have caught up.
    """
    debts = {p.tp: p.debts for p in positions}
    paid = [p for p in positions if not tables or not all(table in debts[p.tp] for table in tables)]
    live = allocate(paid, logs, smaller(limit, limit_of(positions, LIVE)))
    kinds = [(SliceKind.LIVE, live, tuple(tables))] if live else []
    ends = {p.tp: p.offset for p in positions} | {r.tp: r.end for r in live}
    log_of = {log.tp: log for log in logs}
    for table in sorted({table for owed in debts.values() for table in owed}):
        starts = {tp: owed[table].start for tp, owed in debts.items() if table in owed}
        most = smaller(limit, limit_of(positions, table))
        shares = fair_shares({tp: ends[tp] - start for tp, start in starts.items()}, most)
        ranges = tuple(
            OffsetRange(tp.topic, log_of[tp].topic_id, tp.partition, start, start + shares[tp])
            for tp, start in starts.items()
            if shares[tp] > 0
        )
        if ranges:
            kinds.append((SliceKind.CATCH_UP, ranges, (table,)))
    return tuple(Slice(i, kind, ranges, names) for i, (kind, ranges, names) in enumerate(kinds))


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
