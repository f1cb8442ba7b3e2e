"""What a commit leaves for the next run: backlogs, in one error with the way out, and less to read after slow writes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from floe.config import Connector
from floe.kafka.exceptions import PositionFull
from floe.kafka.settings import KafkaSettings
from floe.kafka.transactions import Move, move_positions
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan, Slice, limit_of, positions_limited
from floe.model.plan_progress import Progress, progress
from floe.model.positions import Position
from floe.tables.exceptions import TablesBehind

# Backlogs after a commit: the tables that are behind, named in one error with the recovery options.


MAX_NAMED = 5
"""Ranges of one table that an error names."""


def check_backlogs(recorded: Iterable[Position], unrecorded: Iterable[Position], refusals: Mapping[str, str]) -> None:
    """Raise TablesBehind when a table is behind.

    ``recorded``: the group's positions. ``unrecorded``: what the positions of partitions would say that the group no
    longer has: no later run knows of it, so only this error reports it. ``refusals``: why, by table, where it is known.
    """
    message = []
    if backlog := _backlog(recorded):
        message.append(
            f"{_behind(backlog, refusals)}. All other tables were committed. Fix the table: the next runs then read the "
            "missing offsets before any newer ones. To skip them instead, trigger the DAG with "
            f"drop_backlog={json.dumps(sorted(backlog))}."
        )
    if backlog := _backlog(unrecorded):
        message.append(
            f"{_behind(backlog, refusals)}. This is not recorded, because the group has no offsets of these partitions any "
            "more: the topic or the group's offsets were deleted. All other tables were committed. Fix the table before "
            "the next run and clear the commit task of this run, which commits what was announced. If the topic still "
            "exists, a run with `recover` reads the offsets again as well."
        )
    if message:
        raise TablesBehind(" ".join(message))


def _backlog(positions: Iterable[Position]) -> dict[str, list[str]]:
    """Return by table the ranges that it is behind on."""
    ranges: dict[str, list[str]] = {}
    for position in positions:
        for table, backlog in position.backlogs.items():
            ranges.setdefault(table, []).append(f"{position.tp}[{backlog.start}, {position.offset})")
    return ranges


def _behind(backlog: Mapping[str, Sequence[str]], refusals: Mapping[str, str]) -> str:
    return "; ".join(
        f"table {table!r} is behind on {len(ranges)} partition(s): {', '.join(ranges[:MAX_NAMED])}"
        + (f", because {refusals[table].rstrip('.')}" if table in refusals else "")
        for table, ranges in sorted(backlog.items())
    )


# Limiting what the next run reads, after writes that took longer than ``floe.write.timeout``.


def limit_slices(plan: Plan, slices: Sequence[Slice], connector: Connector, settings: KafkaSettings) -> bool:
    """Store at the positions that the next run reads at most half of slices; return whether there was something to limit.

    No position is moved. A slice that another run has committed meanwhile is not limited. Raises Superseded when another run
    moved the positions elsewhere, PositionFull when their metadata has no room, and what ``move_positions`` raises.
    """

    def decide(found: Mapping[TopicPartition, Position]) -> Move | None:
        present = [found[p.tp] for p in plan.positions if p.tp in found]
        left = [slice_ for slice_ in slices if progress(plan, slice_, found) is Progress.BEFORE]
        if not left or not present:
            return None
        limited = positions_limited(present, left)
        if any(limit_of(limited, slice_.limit_name) is None for slice_ in left):
            msg = f"the metadata of the positions has no room beside the backlog of {sorted(present[0].backlogs)}"
            raise PositionFull(msg)
        return Move([], limited)

    return move_positions(connector, settings, [p.tp for p in plan.positions], decide)
