"""What the control topic says of the past: which offsets were announced for a table, and which tables have rows of late."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from floe.config.names import table_problem
from floe.control import headers as h
from floe.control.exceptions import EventDecodeError
from floe.control.signature import is_signed
from floe.control.topic_reader import ControlMessage, read_control
from floe.control.wire.codec import decode
from floe.control.wire.events import CommitToTable
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.offsets import OffsetRange, TopicPartition, ranges_from_json
from floe.model.plan_seal import DeploymentKey

# Offsets that announcements of a connector had rows of for a table: the table may contain them.


MAX_ANNOUNCED_RECORDS = 100_000
"""Records of the control topic that are searched, per partition, from the newest back."""


def announced_ranges(
    settings: KafkaSettings, topic: str, ends: Mapping[int, int], group_id: str, names: Collection[str]
) -> dict[str, set[OffsetRange]]:
    """Return by table the ranges that the group's announcements before ``ends`` have files of.

    Only what is announced is committed. So a table contains no offsets besides these, and those of announcements that
    retention has removed or that are older than ``MAX_RECORDS``. Raises what reading the control topic raises.
    """
    if not ends:
        return {}
    cluster = Cluster.of_control(settings)
    log_starts = cluster.log_starts([TopicPartition(topic, partition) for partition in ends])
    starts = {tp.partition: max(start, ends[tp.partition] - MAX_ANNOUNCED_RECORDS) for tp, start in log_starts.items()}
    found: dict[str, set[OffsetRange]] = {}
    for message in read_control(settings, topic, starts, ends, group_id):
        ranges: tuple[OffsetRange, ...] | None = None
        for name in _with_files(message, names):
            ranges = _ranges(message) if ranges is None else ranges
            found.setdefault(name, set()).update(ranges)
    return found


def _with_files(message: ControlMessage, names: Collection[str]) -> Iterator[str]:
    """Yield those of the tables that an announcement has files of, or removes rows of."""
    text = message.headers.get(h.TABLES)
    if text is None or not any(json.dumps(name) in text for name in names):
        return
    try:
        tables = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(tables, dict):
        return
    for name in names:
        counts = tables.get(name)
        if isinstance(counts, dict) and (counts.get("files") or message.headers.get(h.KIND) == "replace"):
            yield name


def _ranges(message: ControlMessage) -> tuple[OffsetRange, ...]:
    """Return the ranges of an announcement; none if no announcement could have such a header."""
    try:
        return ranges_from_json(h.json_header(message.headers, h.RANGES))
    except (LookupError, TypeError, ValueError, AttributeError):
        return ()


# Tables that a connector filled, by the last ``CommitToTable`` of each in its control topic.


log = logging.getLogger(__name__)

WINDOWS = (5_000, 20_000, 75_000)
"""Sizes, in records, of the windows of each control partition that are searched, from the newest records back."""


class _Filled(NamedTuple):
    """The last known state of a table; ``uuid``: None if its loss was decided about after it was filled."""

    at: datetime
    uuid: UUID | None


def filled_tables(
    settings: KafkaSettings,
    topic: str,
    ends: Mapping[int, int],
    group_id: str,
    names: Collection[str] | None,
    deployment: DeploymentKey | None = None,
) -> dict[str, UUID]:
    """Return the UUIDs of tables that the group's commits filled, except those that ``dropped_tables`` named since.

    ``ends``: last stable offsets of the control topic. ``names``: tables to search for; None for all that the newest
    records name. ``deployment``: its key; with one, only records that a plan of it signed count. The search goes back as
    far as ``WINDOWS``: a table whose commits are older, or were removed by retention, counts as never filled.
    """
    starts = {tp.partition: start for tp, start in _log_starts(settings, topic, ends).items()}
    upper, filled = dict(ends), dict[str, _Filled]()
    for size in WINDOWS:
        lower = {p: max(starts.get(p, 0), end - size) for p, end in upper.items()}
        for message in read_control(settings, topic, lower, upper, group_id):
            if deployment is None or is_signed(deployment, message):
                _note(filled, message, group_id)
        upper = {p: start for p, start in lower.items() if start > starts.get(p, 0)}
        if names is None or not upper or not set(names) - filled.keys():
            break
    else:
        log.info("commits of %s are looked for in the last %s records of %r only", group_id, sum(WINDOWS), topic)
    wanted = filled if names is None else names
    return {name: entry.uuid for name in wanted if (entry := filled.get(name)) is not None and entry.uuid is not None}


def _log_starts(settings: KafkaSettings, topic: str, ends: Mapping[int, int]) -> dict[TopicPartition, int]:
    if not ends:
        return {}
    return Cluster.of_control(settings).log_starts([TopicPartition(topic, partition) for partition in ends])


def _note(filled: dict[str, _Filled], message: ControlMessage, group_id: str) -> None:
    """Keep what a record says about tables, unless it is older than what is known. Skip foreign and unreadable records."""
    for name, entry in _metadata_fields(message, group_id):
        if name not in filled or filled[name].at <= entry.at:
            filled[name] = entry


def _metadata_fields(message: ControlMessage, group_id: str) -> Iterator[tuple[str, _Filled]]:
    headers = message.headers
    if h.VERSION not in headers or h.TABLES in headers or h.PART in headers:
        return
    with suppress(EventDecodeError, ValueError, AttributeError, TypeError):
        event = decode(message.value)
        if event.group_id != group_id:
            return  # a record of another connector, copied under this one's key: its signature is valid
        if isinstance(event.payload, CommitToTable):
            reference = event.payload.table_reference
            yield ".".join((*reference.namespace, reference.name)), _Filled(event.timestamp, reference.table_uuid)
        elif h.DECISIONS in headers:
            for name in h.json_header(headers, h.DECISIONS).get("dropped_tables", {}):
                yield str(name), _Filled(event.timestamp, None)


# Tables that a connector wrote recently, by its control topic.


MAX_RECENT_RECORDS = 5_000
"""Records of the control topic that are read, per partition."""

MAX_CHARACTERS = 4_000_000
"""Characters of their headers that are read, the newest first."""

MAX_TABLES = 2_000
"""Tables that are returned, the newest first."""


def recent_tables(settings: KafkaSettings, topic: str, ends: Mapping[int, int], group_id: str) -> frozenset[str]:
    """Return the tables that the group's last announcements before ``ends`` name, at most ``MAX_TABLES``.

    The result is only a hint that saves work: a user who may write to the topic may name any table, in any header.
    """
    cluster = Cluster.of_control(settings)
    log_starts = cluster.log_starts([TopicPartition(topic, partition) for partition in ends])
    starts = {tp.partition: max(start, ends[tp.partition] - MAX_RECENT_RECORDS) for tp, start in log_starts.items()}
    texts: deque[str] = deque()
    characters = 0
    for message in read_control(settings, topic, starts, ends, group_id):
        if (text := message.headers.get(h.TABLES)) is None:
            continue
        texts.append(text)
        characters += len(text)
        while characters > MAX_CHARACTERS:
            characters -= len(texts.popleft())
    return frozenset(_newest(texts))


def _newest(texts: deque[str]) -> dict[str, None]:
    found: dict[str, None] = {}
    for text in reversed(texts):
        for name in _names(text):
            if len(found) == MAX_TABLES:
                return found
            found[name] = None
    return found


def _names(text: str) -> Iterator[str]:
    """Yield the tables of a header; none if no announcement could have it."""
    try:
        tables = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(tables, dict):
        yield from (name for name in tables if not table_problem(name))
