"""What decides where partitions begin, and the positions that come of it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from floe.model.positions import Position
from floe.model.ranges import PartitionLog, TopicPartition


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """What decides where partitions begin that cannot simply be read on.

    ``owner``: the connector's name. ``routing``: routing hash by topic. ``contained_ids``: the ids of a topic's incarnations
    that the connector's tables contain offsets of, None where the topic is new to them; asked once for each topic of which
    no partition has a position.
    ``unreadable``: tables whose content is not known, which is why ``contained_ids`` may name none and not be None.
    ``copies``: the newest copy of a partition's position in the tables' ledgers, asked only to recover. ``routes``: route
    hash by (table, topic); a backlog under another one cannot be caught up. ``reopened``: per partition and table, the
    first offset that was rolled back and is to be read again. ``keeps_limits``: the connector has a ``floe.write.timeout``,
    so that the limits of earlier runs apply. ``starts``: where partitions of topics begin that were not read yet.
    ``skips``: up to where partitions are not read from now on. ``divergences``: by partition the first offset from which on
    the log is not the one that was read, as leader epochs show.
    """

    cluster_id: str
    owner: str
    offset_reset: Literal["earliest", "latest"]
    routing: Mapping[str, str]
    contained_ids: Callable[[str], frozenset[str] | None]
    unreadable: Callable[[], Collection[str]] = frozenset
    copies: Callable[[PartitionLog], Position | None] = lambda _: None
    routes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    reopened: Mapping[TopicPartition, Mapping[str, int]] = field(default_factory=dict)
    keeps_limits: bool = True
    starts: Mapping[TopicPartition, int] = field(default_factory=dict)
    skips: Mapping[TopicPartition, int] = field(default_factory=dict)
    divergences: Mapping[TopicPartition, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResolvedPositions:
    """Positions to read on from.

    ``replaced``: as found, those of them that are rewritten. ``cuts``: of reset topics, by partition the offset from which on
    the log has other records than were read, or none: the ledgers must forget the offsets from there on. ``notes``: what
    was decided and what it costs, to be logged.
    """

    positions: tuple[Position, ...]
    replaced: tuple[Position, ...] = ()
    cuts: Mapping[TopicPartition, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
