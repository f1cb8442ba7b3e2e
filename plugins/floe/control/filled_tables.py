"""Tables that a connector filled, by the last ``CommitToTable`` of each in its control topic."""

import logging
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from floe.control import headers as h
from floe.control.exceptions import EventDecodeError
from floe.control.signature import is_signed
from floe.control.topic_reader import ControlMessage, read_control
from floe.control.wire.codec import decode
from floe.control.wire.events import CommitToTable
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.plan_seal import DeploymentKey
from floe.model.ranges import TopicPartition

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
