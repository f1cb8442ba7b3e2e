"""What floe stores, read from its documented formats: ledgers, new offsets, record counts, positions, backlogs."""

from __future__ import annotations

import json
import zlib
from base64 import b85decode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import confluent_kafka as ck

from tests.faults.oracle.kafka_log import LogKey

Spans = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Position:
    """A committed offset of the group. ``backlogs``: per table, the offset from which the table is behind."""

    offset: int
    topic_id: str | None = None
    backlogs: Mapping[str, int] = field(default_factory=dict)


def read_position(offset: int, metadata: str) -> Position:
    """Read a position and its metadata; a foreign one has no topic id."""
    try:
        fields = json.loads(metadata)
        backlogs = {str(table): int(backlog[0]) for table, backlog in (fields.get("debts") or {}).items()}
        return Position(offset, str(fields["topic"]), backlogs)
    except (ValueError, KeyError, TypeError, AttributeError):
        return Position(offset)


class Positions:
    """Asks for a group's committed offsets.

    By a consumer that never subscribes, so that it is no member of the group. (An admin client would do, but the
    answer of a coordinator that has moved makes librdkafka 2.16 end its process.)
    """

    def __init__(self, bootstrap: str, group: str) -> None:
        self._consumer = ck.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "enable.auto.commit": False,
                "isolation.level": "read_uncommitted",
                "log_level": 0,
            }
        )

    def ask(self, topics: Iterable[str], seconds: float = 30) -> dict[tuple[str, int], Position]:
        """Return the positions of the topics' partitions, as they are now."""
        listed = {topic: self._consumer.list_topics(topic, timeout=seconds).topics.get(topic) for topic in topics}
        asked = [
            ck.TopicPartition(topic, partition)
            for topic, facts in listed.items()
            if facts is not None and facts.error is None
            for partition in facts.partitions
        ]
        if not asked:
            return {}
        return {
            (tp.topic, tp.partition): read_position(tp.offset, tp.metadata or "")
            for tp in self._consumer.committed(asked, timeout=seconds)
            if tp.offset >= 0
        }

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


def positions_of(bootstrap: str, group: str, topics: Iterable[str]) -> dict[tuple[str, int], Position]:
    """Ask once."""
    one = Positions(bootstrap, group)
    try:
        return one.ask(topics)
    finally:
        one.close()


def ledger_spans(properties: Mapping[str, str], group: str, branch: str = "main") -> dict[LogKey, Spans]:
    """Return the offsets that a table's ledger says it holds, whatever their route."""
    name = f"floe.ledger.{group}.{branch}"
    if name not in properties:
        return {}
    fields = json.loads(properties[name])
    if "pieces" in fields:
        packed = "".join(properties[f"{name}/{i}"] for i in range(fields["pieces"]))
        fields = json.loads(zlib.decompress(b85decode(packed)))
    return {
        LogKey(topic, topic_id, partition): joined(span for spans in held.values() for span in spans)
        for topic, topic_id, partition, held, *_ in fields["logs"]
    }


def net_spans(summary: Mapping[str, str]) -> dict[LogKey, Spans] | None:
    """Return the offsets that a snapshot's rows stand for; None when only their digest is kept."""
    topics = json.loads(summary.get("floe.net", "{}"))
    if "sha256" in topics:
        return None
    found: dict[LogKey, list[tuple[int, int]]] = {}
    for topic, entry in topics.items():
        for partition, start, end in entry["ranges"]:
            found.setdefault(LogKey(topic, entry["id"], partition), []).append((start, end))
    return {log: joined(spans) for log, spans in found.items()}


@dataclass(frozen=True)
class Books:
    """The books of one snapshot: per (topic, partition, start, end) and for the table, counts by name."""

    ranges: Mapping[tuple[str, int, int, int], Mapping[str, int]]
    table: Mapping[str, int]


def books_of(summary: Mapping[str, str]) -> Books | None:
    """Return a snapshot's books; None when only their digest is kept."""
    fields = json.loads(summary["floe.books"])
    if "sha256" in fields:
        return None
    return Books({(t, p, s, e): counts for t, p, s, e, counts in fields["ranges"]}, fields["table"])


def control_offsets(summary: Mapping[str, str], group: str) -> dict[str, int]:
    """Return the control topic's offsets in a snapshot's summary, by topic and partition."""
    return {
        f"{key}/{partition}": int(end)
        for key, text in summary.items()
        if key.startswith("kafka.connect.offsets.") and key.endswith(f".{group}")
        for partition, end in json.loads(text).items()
    }


def joined(spans: Iterable[Iterable[int]]) -> Spans:
    """Sort spans and join those that touch."""
    found: list[tuple[int, int]] = []
    for start, end in sorted((int(s), int(e)) for s, e in spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        elif start < end:
            found.append((start, end))
    return tuple(found)


def inside(spans: Spans, offset: int) -> bool:
    """Say whether an offset is in one of a few spans."""
    return any(start <= offset < end for start, end in spans)
