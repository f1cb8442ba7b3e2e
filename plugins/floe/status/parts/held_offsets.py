"""The offsets that tables contain of each partition, from their ledgers: the newest spans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pyiceberg.table import Table

from floe.exceptions import FloeError
from floe.model.holding import Holding, LogId
from floe.model.intervals import Intervals
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.ranges import TopicPartition
from floe.status.parts.record_size import with_most_spans
from floe.status.record import HeldOffsets
from floe.status.tables import Found, TableReader
from floe.tables.table_ledger import origin_of

MAX_SPANS: Final = 20
MAX_ENTRIES: Final = 2_000
"""Spans of each entry, and entries: a table's partitions."""


def held_offsets(
    reader: TableReader,
    found: Mapping[str, Found],
    topic_ids: Mapping[str, str],
    committed: Mapping[TopicPartition, int] = MappingProxyType({}),
) -> tuple[HeldOffsets, ...]:
    """Return what the connector's tables contain, by table and partition; nothing of the dead-letter table.

    ``topic_ids``: of the topics that exist. Of a topic that is not among them, its last incarnation counts. A table whose
    ledger cannot be read has its problem in its own status. ``committed``: the group's offsets, as far as they were known
    before the tables were loaded.
    """
    every = (
        replace(held, committed=committed.get(TopicPartition(held.topic, held.partition)))
        for name, table in found.items()
        for held in _of_table(reader, name, table, topic_ids)
    )
    return with_most_spans(every, MAX_ENTRIES)


def _of_table(reader: TableReader, name: str, table: Found, topic_ids: Mapping[str, str]) -> Iterator[HeldOffsets]:
    if not isinstance(table, Table) or name == reader.connector.errors.table:
        return
    group_id = reader.connector.group_id
    try:
        origin = origin_of(table.metadata, reader.routes.branch(name), group_id)
        ledger = read_properties(property_name(group_id, origin), table.metadata.properties)
    except FloeError:
        return
    for log_id, holding in _present(ledger, topic_ids):
        spans = Intervals.of(span for held in holding.held.values() for span in held).spans
        if spans:
            newest = Intervals(spans[-MAX_SPANS:])
            yield HeldOffsets(name, log_id.topic, log_id.partition, newest, len(spans) - len(newest.spans))


def _present(ledger: Ledger | None, topic_ids: Mapping[str, str]) -> list[tuple[LogId, Holding]]:
    """Return the holdings of one incarnation of each topic, by topic and partition."""
    holdings = {} if ledger is None else ledger.holdings
    last = {log_id.topic: log_id.topic_id for log_id in holdings}
    ids = last | {topic: topic_ids[topic] for topic in last.keys() & topic_ids.keys()}
    return sorted(
        ((log_id, holding) for log_id, holding in holdings.items() if log_id.topic_id == ids[log_id.topic]),
        key=lambda item: item[0],
    )
