"""Plans: what one run reads, frozen before anything is read, and kept in Airflow's task state store as JSON."""

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from floe.offsets.ledger import LiveRange
from floe.offsets.position import Position, PositionMetadata
from floe.offsets.ranges import OffsetRange, TopicPartition, ranges_from_json, ranges_to_json

FORMAT = 1
_COMMIT_IDS = uuid.UUID("6f1d3c1e-7a55-5b1c-9f6e-0f10e0f10e0f")


class SliceKind(StrEnum):
    """Why a slice is read; it decides how its tables' ledgers take it."""

    LIVE = "live"


@dataclass(frozen=True, slots=True)
class Slice:
    """What one Spark job reads: whole ranges, each partition at most once."""

    index: int
    kind: SliceKind
    ranges: tuple[OffsetRange, ...]

    @property
    def records(self) -> int:
        """Upper bound of the records in it, in offsets."""
        return sum(len(r) for r in self.ranges)


@dataclass(frozen=True, slots=True)
class Plan:
    """The slices of one run and all that must not change while it is carried out.

    ``config``: the connector's effective keys, secrets by reference. ``control_ends``: the control topic's last
    stable offsets when the plan was made, per partition; announcements count from there on. ``positions``: every
    partition's position as the plan sent it; slices start there.
    """

    plan_id: str
    connector: str
    group_id: str
    cluster_id: str
    config: Mapping[str, str]
    control_topic: str
    control_ends: Mapping[int, int]
    positions: tuple[Position, ...]
    slices: tuple[Slice, ...]

    @property
    def commit_id(self) -> uuid.UUID:
        """The commit id that all events of this plan carry: UUIDv5 of group and plan id."""
        return uuid.uuid5(_COMMIT_IDS, f"{self.group_id}/{self.plan_id}")

    def slice_id(self, piece: Slice) -> str:
        """Name one slice of this plan, as the ``floe-slice`` header does."""
        return f"{self.plan_id}/{piece.index}"

    def live_ranges(self, ranges: Iterable[OffsetRange]) -> list[LiveRange]:
        """Put to each range of a live slice what a ledger must know of the position that it started from."""
        positions = {p.tp: p for p in self.positions}
        return [_live(r, positions[r.tp]) for r in ranges]

    def positions_after(self, slices: tuple[Slice, ...]) -> tuple[Position, ...]:
        """Return all positions, those of the given slices moved to the ends of their ranges."""
        ends = {r.tp: r.end for piece in slices for r in piece.ranges}
        return tuple(Position(p.tp, ends.get(p.tp, p.offset), p.metadata) for p in self.positions)

    def to_json(self) -> dict[str, Any]:
        return {
            "floe": FORMAT,
            "plan": self.plan_id,
            "connector": self.connector,
            "group": self.group_id,
            "cluster": self.cluster_id,
            "config": dict(self.config),
            "control": {
                "topic": self.control_topic,
                "ends": [[p, end] for p, end in sorted(self.control_ends.items())],
            },
            "positions": [[p.tp.topic, p.tp.partition, p.offset, p.metadata] for p in self.positions],
            "slices": [[s.index, s.kind.value, ranges_to_json(s.ranges)] for s in self.slices],
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "Plan":
        """Read what :meth:`to_json` wrote."""
        if fields.get("floe") != FORMAT:
            msg = f"this plan has format {fields.get('floe')!r}, floe reads {FORMAT}: trigger a new run"
            raise ValueError(msg)
        return cls(
            plan_id=fields["plan"],
            connector=fields["connector"],
            group_id=fields["group"],
            cluster_id=fields["cluster"],
            config=fields["config"],
            control_topic=fields["control"]["topic"],
            control_ends={int(p): int(end) for p, end in fields["control"]["ends"]},
            positions=tuple(Position(TopicPartition(t, int(p)), int(o), m) for t, p, o, m in fields["positions"]),
            slices=tuple(Slice(int(i), SliceKind(k), ranges_from_json(r)) for i, k, r in fields["slices"]),
        )


def _live(r: OffsetRange, position: Position) -> LiveRange:
    metadata = PositionMetadata.decode(position.metadata)
    if metadata is None:
        msg = f"the plan's position of {r.tp} has no metadata of floe's: {position.metadata!r}"
        raise ValueError(msg)
    return LiveRange(r, metadata.since, (position.offset, position.metadata))
