"""Limiting what the next run reads, after writes that took longer than ``floe.write.timeout``."""

from collections.abc import Mapping, Sequence

from floe.config import Connector
from floe.kafka.exceptions import PositionFull
from floe.kafka.group_offsets import Move, move_positions
from floe.kafka.settings import KafkaSettings
from floe.model.plan import Plan, Slice, positions_limited
from floe.model.plan_progress import Progress, progress
from floe.model.positions import Position
from floe.model.range_limits import limit_of
from floe.model.ranges import TopicPartition


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
