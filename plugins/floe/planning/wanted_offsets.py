"""Where a run's params say that reading begins: ``start_at`` for a topic that was not read yet, ``skip_to`` for any other.

What is skipped is lost by decision: it is on record like offsets that retention removed, in the group's metadata until a
snapshot records it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from floe.model.decisions import ALL, Decisions
from floe.model.exceptions import PlanRefused
from floe.model.offsets import Intervals, PartitionLog, TopicPartition
from floe.model.positions import Position, PositionMetadata
from floe.planning.replay_request import epoch_ms

EARLIEST, LATEST = "earliest", "latest"
MAX_NAMED: Final = 20
"""Problems that an error names."""

_SHOWN_CHARACTERS = 100
_CODE = "FLOE-112"

OffsetsAt = Callable[[Iterable[TopicPartition], int], Mapping[TopicPartition, int | None]]
"""From partitions and a time in epoch ms, the first offset of each at or after it; None where there is none."""


def check_combination(decisions: Decisions) -> None:
    """Raise PlanRefused for decisions of one run that move the same offsets in two ways."""
    named = [name for name in ("start_at", "skip_to") if getattr(decisions, name)]
    others = [name for name in ("recover", "reset_topics", "rolled_back", "dropped_tables") if getattr(decisions, name)]
    if len(named) > 1 or (named and others):
        both = [*named, *others]
        msg = f"{both[0]} cannot be combined with {' and '.join(both[1:])}. Nothing was read. Decide one in each run"
        raise PlanRefused(msg, code=_CODE)


def wanted_offsets(
    param: str, wanted: Mapping[str, object], logs: Sequence[PartitionLog], offsets_at: OffsetsAt
) -> dict[TopicPartition, int]:
    """Return the offset that a param names for each partition, none above its last stable offset.

    ``wanted``: by partition (``topic-0``), topic or ``*``, of which the narrowest counts: an offset, ``earliest``,
    ``latest`` or a time. Raises PlanRefused with all that cannot be understood.
    """
    found: dict[TopicPartition, int] = {}
    problems: list[str] = []
    topics = {log.tp.topic for log in logs}
    for name, value in sorted(wanted.items(), key=lambda item: _breadth(item[0], topics)):
        named = [log for log in logs if name in (ALL, log.tp.topic) or (name not in topics and name == str(log.tp))]
        try:
            is_one = name not in topics and name != ALL
            found |= dict(_offsets(_shown(name), value, named, offsets_at, logs, is_one=is_one))
        except PlanRefused as error:
            problems.append(str(error))
    if problems:
        more = f"; and {len(problems) - MAX_NAMED} more" if len(problems) > MAX_NAMED else ""
        msg = f"{param}: {'; '.join(problems[:MAX_NAMED])}{more}. Nothing was read. Correct the param"
        raise PlanRefused(msg, code=_CODE)
    return found


def skipped(
    tp: TopicPartition, offset: int, metadata: PositionMetadata, target: int, connector: str
) -> tuple[int, PositionMetadata]:
    """Return the offset and the metadata of a position that skips to ``target``. Raises PlanRefused for a way back."""
    if target < offset:
        msg = (
            f"skip_to names {target} for {tp}, which was read up to {offset}: it goes forward only. Nothing was read. To "
            f"read offsets again, trigger {connector}.replay with them"
        )
        raise PlanRefused(msg, code=_CODE)
    if target == offset:
        return offset, metadata
    return target, replace(metadata, since=target, lost=metadata.lost | Intervals(((offset, target),)))


def skip_note(tp: TopicPartition, read: int, offset: int, metadata: PositionMetadata) -> str:
    """Return what a skip leaves out. Raises PlanRefused past the backlog of a table, which would be read all the same."""
    if metadata.backlogs:
        tables = sorted(metadata.backlogs)
        named = ", ".join(f'"{table}"' for table in tables[:MAX_NAMED])
        msg = (
            f"skip_to names {tp}, on which the tables {tables[:MAX_NAMED]} are behind: what they lack would be read all the "
            f"same. Nothing was read. Let them catch up first, or skip that too: drop_backlog=[{named}]"
        )
        raise PlanRefused(msg, code=_CODE)
    return f"{tp}: skip_to leaves out the offsets [{read}, {offset}) ({offset - read}), which were not read"


def first_offset(log: PartitionLog, target: int) -> int:
    """Return where a topic that was not read begins. Raises PlanRefused for what its log does not have."""
    if target < log.log_start:
        msg = (
            f"start_at names {target} for {log.tp}, but its log begins at {log.log_start}. Nothing was read. Name an offset "
            "that it has, or earliest"
        )
        raise PlanRefused(msg, code=_CODE)
    return target


def check_wanted(start_policy: StartPolicy, read: Collection[TopicPartition]) -> None:
    """Raise PlanRefused for a topic that is to begin although it was read already, and a skip of what was not.

    ``read``: the partitions with a position.
    """
    topics = {tp.topic for tp in read}
    if again := sorted(tp for tp in start_policy.starts if tp.topic in topics):
        msg = (
            f"start_at names {again[0]}, but topic {again[0].topic!r} was read already. Nothing was read. To leave records "
            f"out, trigger the DAG with skip_to; to read offsets again, trigger {start_policy.owner}.replay"
        )
        raise PlanRefused(msg, code=_CODE)
    if unread := sorted(start_policy.skips.keys() - set(read)):
        msg = (
            f"skip_to names {unread[0]}, which has not been read yet. Nothing was read. Name where a new topic begins by "
            "start_at; a new partition of a topic is read from its log start"
        )
        raise PlanRefused(msg, code=_CODE)


def _offsets(
    shown: str,
    value: object,
    named: Sequence[PartitionLog],
    offsets_at: OffsetsAt,
    logs: Sequence[PartitionLog],
    *,
    is_one: bool,
) -> Iterator[tuple[TopicPartition, int]]:
    if not named:
        known = ", ".join(str(log.tp) for log in logs[:MAX_NAMED])
        msg = f"{shown} is no topic or partition that the connector reads, such as {known}"
        raise PlanRefused(msg, code=_CODE)
    if isinstance(value, str):
        yield from _of_word(shown, value, named, offsets_at)
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        msg = f"{shown} is {_shown(value)}: write an offset, which is not negative, {EARLIEST}, {LATEST} or a time"
        raise PlanRefused(msg, code=_CODE)
    if not is_one:
        msg = f"{shown} is {value}: an offset is of one partition; name it, as in {named[0].tp}"
        raise PlanRefused(msg, code=_CODE)
    (log,) = named
    if value > log.stable_end:
        msg = f"{shown} is {value}, but the log of {log.tp} ends at {log.stable_end}"
        raise PlanRefused(msg, code=_CODE)
    yield log.tp, value


def _of_word(
    shown: str, value: str, named: Sequence[PartitionLog], offsets_at: OffsetsAt
) -> Iterator[tuple[TopicPartition, int]]:
    if value in (EARLIEST, LATEST):
        yield from ((log.tp, log.log_start if value == EARLIEST else log.stable_end) for log in named)
        return
    found = offsets_at([log.tp for log in named], epoch_ms(shown, value[:_SHOWN_CHARACTERS]))
    for log in named:
        offset = found[log.tp]
        yield log.tp, log.stable_end if offset is None else min(offset, log.stable_end)


def _breadth(name: str, topics: Iterable[str]) -> int:
    return 0 if name == ALL else 1 if name in topics else 2


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN_CHARACTERS + 2 else f"{text[: _SHOWN_CHARACTERS + 1]}…'"


# What decides where partitions begin, and the positions that come of it.


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
