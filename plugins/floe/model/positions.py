"""Positions: the committed offsets of a connector's group, and the contents of their metadata strings."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from floe.model.exceptions import PlanRefused, PositionOwned
from floe.model.offsets import Intervals, TopicPartition

FORMAT = 1
MAX_METADATA_LENGTH = 4_096
"""Bytes; the brokers' default ``offset.metadata.max.bytes``."""


LIVE = ""
"""The name of live slices among limits; a catch-up slice has the name of its table."""

MAX_OWNER = 40
"""Characters of a connector's name that a position stores in full; of a longer one, the beginning and a hash."""


def owner_of(connector: str) -> str:
    """Return the owner that the positions of a connector store."""
    if len(connector) <= MAX_OWNER and connector.isascii():
        return connector
    digest = hashlib.sha256(connector.encode()).hexdigest()[:16]
    return f"{connector[: MAX_OWNER - 17].encode('ascii', 'replace').decode()}~{digest}"


class LeaderEpoch(NamedTuple):
    """The leader epoch in which a partition's log was planned up to ``end``.

    All offsets below ``end`` that floe has read are of the log that the leader of this epoch had. If the log of a later
    leader has an earlier end of this epoch (KIP-101), other records have those offsets now.
    """

    number: int
    end: int


class PartitionBacklog(NamedTuple):
    """The backlog of a table on a partition: all offsets from ``start`` on, under ``route``."""

    start: int
    route: str


@dataclass(frozen=True, slots=True)
class PositionMetadata:
    """What floe keeps beside an offset.

    ``routing``: hash of the connector's routing of this topic. ``since``: the offset from which that routing has
    been unchanged. ``topic_id`` and ``cluster_id``: the incarnation of the topic and the cluster that the offset
    belongs to. ``lost``: offsets accepted as lost that no snapshot records yet. ``backlogs``: by table.
    ``owner``: the connector that moves the position, as :func:`owner_of` returns it; empty in older positions.
    ``limits``: the maximum number of offsets that a slice reads after a write that took too long, by the slice's name
    (see ``range_limits``). ``epoch``: of the last plan, its end at or above the offset; None in older positions, and where
    the brokers keep no leader epochs.
    """

    routing: str
    since: int
    topic_id: str
    cluster_id: str
    lost: Intervals = field(default_factory=Intervals)
    backlogs: Mapping[str, PartitionBacklog] = field(default_factory=lambda: MappingProxyType({}))
    owner: str = ""
    limits: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    epoch: LeaderEpoch | None = None

    def encode(self) -> str:
        """Write as compact JSON. Without backlogs it is well below Kafka's limit; with many of them it may exceed it.

        An owner or limits that do not fit beside the backlogs are left out: backlogs cannot be stored elsewhere. A
        limit of a table that is not behind is not written.
        """
        fields: dict[str, Any] = {
            "floe": FORMAT,
            "routing": self.routing,
            "since": self.since,
            "topic": self.topic_id,
            "cluster": self.cluster_id,
        }
        if self.epoch is not None:
            fields["epoch"] = list(self.epoch)
        if self.lost:
            fields["lost"] = list(self.lost)
        if self.backlogs:
            fields["debts"] = {table: list(backlog) for table, backlog in sorted(self.backlogs.items())}
        limits = {name: limit for name, limit in sorted(self.limits.items()) if name == LIVE or name in self.backlogs}
        for name, value in (("owner", self.owner), ("limits", limits)):
            if value and len(_json({**fields, name: value}).encode()) <= MAX_METADATA_LENGTH:
                fields[name] = value
        return _json(fields)

    def behind(self, backlogs: Mapping[str, PartitionBacklog]) -> "PositionMetadata":
        """Return the same with other backlogs."""
        return replace(self, backlogs=backlogs)

    @classmethod
    def decode(cls, text: str) -> "PositionMetadata | None":
        """Read what :meth:`encode` wrote; None when another program wrote it."""
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(fields, dict) or fields.get("floe") != FORMAT:
            return None
        try:
            backlogs = {
                str(t): PartitionBacklog(int(start), str(route))
                for t, (start, route) in fields.get("debts", {}).items()
            }
            return cls(
                routing=str(fields["routing"]),
                since=int(fields["since"]),
                topic_id=str(fields["topic"]),
                cluster_id=str(fields["cluster"]),
                lost=Intervals.of(fields.get("lost", ())),
                backlogs=backlogs,
                owner=str(fields.get("owner", "")),
                limits=_limits(fields.get("limits", {})),
                epoch=_epoch(fields.get("epoch")),
            )
        except (LookupError, TypeError, ValueError, OverflowError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Position:
    """A committed offset of the group; ``metadata`` is its metadata string, unchanged."""

    tp: TopicPartition
    offset: int
    metadata: str

    @property
    def metadata_fields(self) -> PositionMetadata:
        """The decoded metadata. Raises PlanRefused when floe did not write it."""
        found = PositionMetadata.decode(self.metadata)
        if found is None:
            msg = f"the position {self.offset} of {self.tp} has no metadata of floe's: {self.metadata[:80]!r}"
            raise PlanRefused(msg, code="FLOE-216")
        return found

    @property
    def backlogs(self) -> Mapping[str, PartitionBacklog]:
        """The backlogs of this partition by table; empty when another program wrote the position."""
        if '"debts"' not in self.metadata:
            return {}
        found = PositionMetadata.decode(self.metadata)
        return found.backlogs if found is not None else {}

    @property
    def limits(self) -> Mapping[str, int]:
        """The limits of slices by name; empty when another program wrote the position."""
        if '"limits"' not in self.metadata:
            return {}
        found = PositionMetadata.decode(self.metadata)
        return found.limits if found is not None else {}


def without_epoch(position: Position) -> Position:
    """Return a position without its leader epoch, which each plan renews."""
    metadata = PositionMetadata.decode(position.metadata)
    if metadata is None or metadata.epoch is None:
        return position
    return replace(position, metadata=replace(metadata, epoch=None).encode())


def _json(fields: Mapping[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def _limits(fields: Mapping[str, Any]) -> dict[str, int]:
    limits = {str(name): int(limit) for name, limit in fields.items()}
    if any(limit < 1 for limit in limits.values()):
        msg = f"limits below 1: {limits}"
        raise ValueError(msg)
    return limits


def _epoch(fields: Any) -> LeaderEpoch | None:
    if fields is None:
        return None
    number, end = fields
    return LeaderEpoch(int(number), int(end))


def check_owner(positions: Iterable[Position], connector: str) -> None:
    """Raise PositionOwned for a position whose owner is another connector."""
    for position in positions:
        metadata = PositionMetadata.decode(position.metadata)
        if metadata is not None and metadata.owner not in ("", owner_of(connector)):
            msg = (
                f"the position {position.offset} of {position.tp} belongs to connector {metadata.owner!r}, this is "
                f"connector {connector!r}: both have the group of the same id, and one would skip what the other has read. "
                "Nothing was committed and no position was moved. Give one of them an iceberg.connect.group-id of its own; "
                f"or, if {metadata.owner!r} was renamed to {connector!r}, trigger the DAG with `recover`, which takes its "
                "positions over."
            )
            raise PositionOwned(msg)
