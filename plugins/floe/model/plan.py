"""Plans: what one run reads, fixed before anything is read, and stored in Airflow's task state store as JSON."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LiveRange
from floe.model.offsets import Intervals, OffsetRange, TopicPartition, ranges_from_json, ranges_to_json
from floe.model.positions import LIVE, PartitionBacklog, Position

FORMAT = 2
_COMMIT_IDS = uuid.UUID("6f1d3c1e-7a55-5b1c-9f6e-0f10e0f10e0f")


def commit_id_of(group_id: str, plan_id: str) -> uuid.UUID:
    """Return the commit id of a plan: UUIDv5 of group and plan id."""
    return uuid.uuid5(_COMMIT_IDS, f"{group_id}/{plan_id}")


@dataclass(frozen=True, slots=True)
class Slice:
    """What one Spark job reads for some tables: whole ranges, each partition at most once.

    Without ``tables`` it is for all tables that its records name. ``dead_letters``: of a redrive, the records to read.
    """

    index: int
    kind: SliceKind
    ranges: tuple[OffsetRange, ...]
    tables: tuple[str, ...]
    dead_letters: DeadLetterOffsets = field(default_factory=DeadLetterOffsets, hash=False)

    @property
    def is_replay(self) -> bool:
        return self.kind.is_replay

    @property
    def records(self) -> int:
        """Upper bound of the records in it: the number of offsets."""
        return sum(len(r) for r in self.ranges)

    @property
    def limit_name(self) -> str:
        """Its name among the limits that positions contain: that of its table, if it is a catch-up slice."""
        return self.table if self.kind is SliceKind.CATCH_UP else LIVE

    @property
    def table(self) -> str:
        """The one table of a catch-up slice."""
        (table,) = self.tables
        return table


class SliceEnd(NamedTuple):
    """How a slice ended: the tables that are behind on its ranges from now on, and whether a snapshot records it.

    ``is_quick``: twice as much could be written within ``floe.write.timeout``.
    """

    slice: Slice
    behind: Mapping[str, Mapping[str, str]]
    """Per table the route hash per topic."""
    has_snapshot: bool
    is_quick: bool = True


@dataclass(frozen=True, slots=True)
class Plan:
    """The slices of one run and everything that must not change during the run.

    ``config``: the connector's effective keys, secrets by reference. ``control_ends``: the control topic's last
    stable offsets when the plan was made, per partition; announcements count from there on. ``positions``: every
    partition's position as the plan sent it; slices start there. ``replaced``: the positions found, where the operator
    decided to go back or to drop a backlog. ``decisions``: those decisions, for the record. ``anchors``: per table with a
    decision, its last ledger snapshot at that time. ``tables``: the UUIDs of the tables that the plan looked up.
    ``cuts``: of topics that were reset, by partition the offset from which on their log has other records than were read.
    ``left_out``: topics that the client may not read; the run fails at its end. ``code``: that is not floe's: of
    classes by their path, of extensions by their package, version and SHA-256. A replay has no positions and moves none.
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
    replaced: tuple[Position, ...] = ()
    cuts: Mapping[TopicPartition, int] = field(default_factory=dict)
    decisions: Mapping[str, Any] = field(default_factory=dict)
    anchors: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    code: Mapping[str, tuple[int, str]] = field(default_factory=dict)

    @property
    def commit_id(self) -> uuid.UUID:
        """The commit id that all events of this plan carry: UUIDv5 of group and plan id."""
        return commit_id_of(self.group_id, self.plan_id)

    @property
    def dead_letters(self) -> str | None:
        """The dead-letter table, if the connector has one."""
        return self.config.get("floe.deadletter.table", "").strip() or None

    @property
    def is_replay(self) -> bool:
        return any(s.is_replay for s in self.slices)

    @property
    def epochs(self) -> dict[TopicPartition, int]:
        """The leader epochs in which the ranges were planned; a replay's plan has none."""
        found = {p.tp: p.metadata_fields.epoch for p in self.positions}
        return {tp: epoch.number for tp, epoch in found.items() if epoch is not None}

    def slice_id(self, slice_: Slice) -> str:
        """Name one slice of this plan, as the ``floe-slice`` header does."""
        return f"{self.plan_id}/{slice_.index}"

    def slice_of(self, slice_id: str) -> Slice:
        """Return the slice of that name."""
        return next(slice_ for slice_ in self.slices if self.slice_id(slice_) == slice_id)

    def taken(self, slice_: Slice, table: str) -> tuple[OffsetRange, ...]:
        """Return the ranges of a slice whose rows a table gets: a live slice has none of partitions that it is behind on."""
        if slice_.kind is not SliceKind.LIVE:
            return slice_.ranges
        behind = {p.tp for p in self.positions if table in p.backlogs}
        return tuple(r for r in slice_.ranges if r.tp not in behind)

    def live_ranges(self, ranges: Iterable[OffsetRange]) -> list[LiveRange]:
        """Add to each range what a ledger needs of the position that the plan started from."""
        positions = {p.tp: p for p in self.positions}
        return [_live(r, positions[r.tp]) for r in ranges]

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
            "slices": [_slice_to_json(s) for s in self.slices],
            "replaced": [[p.tp.topic, p.tp.partition, p.offset, p.metadata] for p in self.replaced],
            **({"cuts": [[*tp, offset] for tp, offset in sorted(self.cuts.items())]} if self.cuts else {}),
            "decisions": dict(self.decisions),
            "anchors": {table: str(snapshot_id) for table, snapshot_id in self.anchors.items()},
            **({"tables": dict(self.tables)} if self.tables else {}),
            **({"left_out": list(self.left_out)} if self.left_out else {}),
            **({"code": {path: list(of) for path, of in self.code.items()}} if self.code else {}),
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Plan:
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
            positions=_positions(fields["positions"]),
            slices=tuple(_slice_from_json(*one) for one in fields["slices"]),
            replaced=_positions(fields["replaced"]),
            cuts={TopicPartition(t, int(p)): int(offset) for t, p, offset in fields.get("cuts", ())},
            decisions=fields["decisions"],
            anchors={table: int(snapshot_id) for table, snapshot_id in fields["anchors"].items()},
            tables=fields.get("tables", {}),
            left_out=tuple(fields.get("left_out", ())),
            code={path: (int(version), str(digest)) for path, (version, digest) in fields.get("code", {}).items()},
        )


def _positions(rows: Iterable[Any]) -> tuple[Position, ...]:
    return tuple(Position(TopicPartition(t, int(p)), int(o), m) for t, p, o, m in rows)


def _slice_to_json(slice_: Slice) -> list[Any]:
    dead_letters = [slice_.dead_letters.to_json()] if slice_.dead_letters else []
    return [slice_.index, slice_.kind.value, ranges_to_json(slice_.ranges), list(slice_.tables), *dead_letters]


def _slice_from_json(
    index: Any, kind: str, ranges: Any, tables: Iterable[str], dead_letters: Sequence[Any] = ()
) -> Slice:
    of_dead_letters = DeadLetterOffsets.from_json(dead_letters)
    return Slice(int(index), SliceKind(kind), ranges_from_json(ranges), tuple(tables), of_dead_letters)


def _live(r: OffsetRange, position: Position) -> LiveRange:
    return LiveRange(r, position.metadata_fields.since, (position.offset, position.metadata))


def positions_after(plan: Plan, positions: Iterable[Position], ends: Iterable[SliceEnd]) -> tuple[Position, ...]:
    """Return the positions, moved past the slices that ended, with the remaining and the new backlogs."""
    by_partition: dict[TopicPartition, list[tuple[OffsetRange, SliceEnd]]] = {}
    ends = tuple(ends)
    for end in ends:
        for r in end.slice.ranges:
            by_partition.setdefault(r.tp, []).append((r, end))
    left_out = {p.tp: p.backlogs for p in plan.positions if p.backlogs}
    dropped_backlogs = frozenset(plan.decisions.get("forgive", ()))
    return tuple(
        _relaxed(
            _moved(p, by_partition[p.tp], left_out.get(p.tp, {}), dropped_backlogs) if p.tp in by_partition else p, ends
        )
        for p in positions
    )


def positions_limited(positions: Iterable[Position], slices: Sequence[Slice]) -> tuple[Position, ...]:
    """Return the positions with the limits that follow from slices whose write took too long."""
    return tuple(_limited(position, slices) for position in positions)


def _limited(position: Position, slices: Sequence[Slice]) -> Position:
    metadata = position.metadata_fields
    limits = {slice_.limit_name: halved(metadata.limits.get(slice_.limit_name), slice_.records) for slice_ in slices}
    return replace(position, metadata=replace(metadata, limits={**metadata.limits, **limits}).encode())


def _relaxed(position: Position, ends: Sequence[SliceEnd]) -> Position:
    """Return the position with the limits that follow from slices that were committed."""
    by_name = {end.slice.limit_name: end for end in ends}
    limits = dict(position.limits)
    for name in limits.keys() & by_name.keys():
        end = by_name[name]
        limit = raised(limits.pop(name), end.slice.records, is_quick=end.is_quick)
        limits |= {} if limit is None else {name: limit}
    if limits == position.limits:
        return position
    return replace(position, metadata=replace(position.metadata_fields, limits=limits).encode())


def _moved(
    position: Position,
    ends: Iterable[tuple[OffsetRange, SliceEnd]],
    left_out: Mapping[str, PartitionBacklog],
    dropped_backlogs: frozenset[str],
) -> Position:
    """Move one position.

    ``left_out``: tables that were behind on the partition when the plan was made and got nothing from a live slice. Unless
    that backlog still exists, the slice's range becomes their backlog. ``dropped_backlogs``: tables whose backlog is dropped.
    """
    metadata, offset = position.metadata_fields, position.offset
    since = metadata.since
    backlogs, lost = dict(metadata.backlogs), metadata.lost
    for r, end in ends:
        if end.slice.kind is SliceKind.LIVE:
            offset = max(offset, r.end)
            lost = Intervals() if end.has_snapshot else lost
            for table, routes in end.behind.items():
                backlogs.setdefault(table, PartitionBacklog(r.start, routes[r.topic]))
                since = r.end if table in dropped_backlogs else since
            for table, backlog in left_out.items():
                backlogs.setdefault(table, PartitionBacklog(r.start, backlog.route))
        elif end.slice.kind is SliceKind.CATCH_UP and end.slice.table not in end.behind:
            backlog = backlogs[end.slice.table]
            backlogs[end.slice.table] = backlog._replace(start=max(backlog.start, r.end))
    left = {
        table: backlog
        for table, backlog in backlogs.items()
        if backlog.start < offset and table not in dropped_backlogs
    }
    return Position(position.tp, offset, replace(metadata, since=since, lost=lost, backlogs=left).encode())


# Why a slice is read, by the word that plans, the header ``floe-kind`` and the snapshot property ``floe.kind`` have.


class SliceKind(StrEnum):
    """It decides where a slice begins and what moves after its commit; each table's write mode decides what is written."""

    LIVE = "live"
    """New records, for all tables that are not behind on the partition. The group's offsets move."""
    CATCH_UP = "catch-up"
    """The backlog of one table. Its start in the group's metadata moves."""
    SKIP = "skip"
    """A replay of what a table does not contain. Nothing moves, as in all replays."""
    APPEND = "append"
    """A replay of all offsets, also of those that a table contains."""
    REPLACE = "replace"
    """A replay of all offsets, in the place of the rows that a table has of them."""
    REDRIVE = "redrive"
    """A replay of records that became dead letters."""

    @classmethod
    def _missing_(cls, value: object) -> None:
        msg = f"no slice is of kind {value!r}; floe knows {', '.join(sorted(cls))}"
        raise ValueError(msg)

    @property
    def is_replay(self) -> bool:
        """Say whether the slice is of a replay: no group offset moves, and no table gets a backlog."""
        return self not in (SliceKind.LIVE, SliceKind.CATCH_UP)


# Limits of what a slice reads, after a write that took longer than ``floe.write.timeout``.
#
# All positions of a connector contain the same limit, in their metadata, by the name of the slice
# (``Slice.limit_name``). Each write that takes too long halves it. Each slice that is committed and took less than
# half of the time doubles it. A slice that reads less than the limit removes it: the limit had no effect.


def halved(limit: int | None, read: int) -> int:
    """Return the limit after the write of ``read`` offsets took too long: at most half of them, and at least one."""
    half = max(1, read // 2)
    return half if limit is None else min(limit, half)


def raised(limit: int, read: int, *, is_quick: bool) -> int | None:
    """Return the limit after ``read`` offsets were committed; None when there is no limit any more.

    ``is_quick``: twice as much could be written in the time that a write may take.
    """
    if read < limit:
        return None
    return 2 * read if is_quick else read


def limit_of(positions: Iterable[Position], name: str) -> int | None:
    """Return the limit that positions contain for the slice with a name."""
    return min((limits[name] for position in positions if name in (limits := position.limits)), default=None)


def smaller(limit: int | None, other: int | None) -> int | None:
    """Return the smaller of two limits; None is no limit."""
    return min((one for one in (limit, other) if one is not None), default=None)
