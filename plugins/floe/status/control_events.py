"""The last events of a connector in its control topic, down to the files that they announce.

They are for people. Any program that may write to the topic can send the like: what a commit relies on is verified elsewhere,
by its signature.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from floe.config import Connector
from floe.config.secrets.mask import clip
from floe.control import headers as h
from floe.control.topic_reader import ControlMessage, read_control
from floe.control.wire.codec import decode
from floe.control.wire.events import DataWritten, Event, TableReference
from floe.exceptions import FloeError
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.offsets import PartitionLog
from floe.status.record import ControlEvent, EventFile

MAX_EVENTS: Final = 30
MAX_FILES: Final = 20
"""Events of a connector, and files of each."""

MAX_OFFSETS: Final = 400
"""Offsets of a partition of the control topic that are read, the newest."""

MAX_EVENT_BYTES: Final = 500_000
"""Of an event that is decoded; floe's own have less."""

MAX_BYTES: Final = 4_000_000
MAX_SECONDS: Final = 5.0
"""Of the connector's own records, decoded, and of the time that reading them may take."""

_CHUNK: Final = 50
"""Offsets that are read at once, from the end backwards."""

_TEXT: Final = 300
"""Characters of a text in an event; of a path, the last ones."""


def control_events(
    connector: Connector, settings: KafkaSettings, known: Sequence[ControlEvent] = ()
) -> tuple[ControlEvent, ...]:
    """Return the connector's last events, the oldest first, those that are ``known`` already without reading them again.

    None where the topic does not exist. Raises what reading the topic raises.
    """
    topic = connector.control_topic
    cluster = Cluster.of_control(settings)
    if not cluster.topics([topic]):
        return ()
    logs = {log.tp.partition: log for log in cluster.logs([topic])}
    if not all(event.partition in logs and event.offset < logs[event.partition].stable_end for event in known):
        known = ()  # of a topic that was deleted since, and created again
    read = _Budget()
    found = [event for log in logs.values() for event in _newest(connector, settings, log, known, read)]
    kept = [event for event in known if event.offset >= logs[event.partition].log_start]
    return _last((*kept, *found))


@dataclass
class _Budget:
    """What may still be read: bytes of values, and seconds."""

    bytes: int = MAX_BYTES
    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def is_spent(self) -> bool:
        return self.bytes <= 0 or time.monotonic() > self.until

    def take(self, message: ControlMessage) -> bool:
        self.bytes -= len(message.value)
        return not self.is_spent()


def _newest(
    connector: Connector, settings: KafkaSettings, log: PartitionLog, known: Sequence[ControlEvent], read: _Budget
) -> list[ControlEvent]:
    """Read a partition from its end backwards, in chunks, until there are enough events of the connector."""
    partition, end = log.tp.partition, log.stable_end
    after = max((event.offset + 1 for event in known if event.partition == partition), default=0)
    first = max(log.log_start, after, end - MAX_OFFSETS)
    found: list[ControlEvent] = []
    while end > first and len(found) < MAX_EVENTS and not read.is_spent():
        start = max(first, end - _CHUNK)
        messages = read_control(settings, log.tp.topic, {partition: start}, {partition: end}, connector.group_id)
        found = [*_events(messages, connector.group_id, read), *found]
        end = start
    return found


def _events(messages: Iterator[ControlMessage], group_id: str, read: _Budget) -> Iterator[ControlEvent]:
    for message in messages:
        event = event_of(message, group_id)
        if event is not None:
            yield event
        if not read.take(message):
            return


def event_of(message: ControlMessage, group_id: str) -> ControlEvent | None:
    """Return a record of the control topic as an event; None for one that is no event of the group."""
    try:
        event = decode(message.value, MAX_EVENT_BYTES)
        return _event(message, event) if event.group_id == group_id else None
    except (FloeError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        return None  # any producer can write such a record


def _event(message: ControlMessage, event: Event) -> ControlEvent:
    payload = event.payload
    slice_id = message.headers.get(h.SLICE)
    files: tuple[EventFile, ...] = ()
    more = 0
    if isinstance(payload, DataWritten):
        data_files = (*(payload.data_files or ()), *(payload.delete_files or ()))
        table = _name(payload.table_reference)
        files = tuple(
            EventFile(table, _path(one.file_path), int(one.record_count), int(one.file_size_in_bytes))
            for one in islice(data_files, MAX_FILES)
        )
        more = len(data_files) - len(files)
    return ControlEvent(
        partition=message.partition,
        offset=message.offset,
        at=event.timestamp,
        kind=event.type.name,
        commit_id=str(payload.commit_id),
        slice_id=None if slice_id is None else clip(slice_id, _TEXT),
        files=files,
        more_files=more,
    )


def _name(reference: TableReference) -> str:
    return clip(".".join((*reference.namespace, reference.name)), _TEXT)


def _path(path: str) -> str:
    """Return a path without secrets, of which the end counts: the file's name is there."""
    hidden = clip(path, len(path) + _TEXT)
    return hidden if len(hidden) <= _TEXT else f"…{hidden[1 - _TEXT :]}"


def _last(events: Sequence[ControlEvent]) -> tuple[ControlEvent, ...]:
    """Return the newest events in their order; each partition's offsets say it, and times do between partitions."""
    by_place: Mapping[tuple[int, int], ControlEvent] = {(one.partition, one.offset): one for one in events}
    return tuple(sorted(by_place.values(), key=lambda one: (one.at, one.partition, one.offset))[-MAX_EVENTS:])
