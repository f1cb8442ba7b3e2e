"""What Kafka shows: every committed record of some topics, read raw and remembered after it is gone.

Nothing of floe's is used: a plain consumer with ``read_committed``, up to the last stable offset.
"""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, OffsetSpec

from tests.faults.oracle.stamps import BROKEN, JsonStamps, Stamp, StampFormat, raw_stamp


class LogKey(NamedTuple):
    """One partition of one incarnation of a topic."""

    topic: str
    topic_id: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class Place(NamedTuple):
    """Where a record is."""

    log: LogKey
    offset: int


@dataclass
class PartitionRecords:
    """The visible records of one partition: offsets in order, a stamp for each that has a value, a digest of all of it."""

    offsets: list[int] = field(default_factory=list)
    stamps: list[Stamp | None] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    read_to: int = 0
    removed: list[tuple[int, int]] = field(default_factory=list)

    def between(self, start: int, end: int) -> Iterator[tuple[int, Stamp | None]]:
        """Yield the visible records of ``[start, end)``."""
        first, last = bisect_left(self.offsets, start), bisect_left(self.offsets, end)
        yield from zip(self.offsets[first:last], self.stamps[first:last], strict=True)


def digest_of(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]) -> bytes:
    """Return what two records have in common only when they are the same, byte by byte."""
    return hashlib.blake2b(repr((key, value, list(headers))).encode(), digest_size=16).digest()


class KafkaLog:
    """The committed records of topics, gathered by one look after the other."""

    def __init__(self, stamps: StampFormat | None = None) -> None:
        self.stamps = stamps or JsonStamps()
        self.partitions: dict[LogKey, PartitionRecords] = {}
        self.places: dict[Stamp, Place] = {}
        self.twice: list[tuple[Place, Place]] = []

    @property
    def values(self) -> int:
        """How many records with a value were seen."""
        return len(self.places)

    def put(
        self,
        log: LogKey,
        offset: int,
        value: bytes | None,
        key: bytes | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> None:
        """Remember one committed record; one that is not whole by its place."""
        records = self.partitions.setdefault(log, PartitionRecords())
        stamp = None if value is None else self.stamps.read(value)
        if stamp == BROKEN:
            stamp = raw_stamp(*log, offset)
        records.offsets.append(offset)
        records.stamps.append(stamp)
        records.digests.append(digest_of(key, value, headers))
        records.read_to = offset + 1
        if stamp is not None:
            known = self.places.setdefault(stamp, Place(log, offset))
            if known != Place(log, offset):
                self.twice.append((known, Place(log, offset)))

    def observe(self, bootstrap: str, topics: Iterable[str], seconds: float = 120) -> None:
        """Read what came since the last look. Topics that do not exist are passed over.

        Call it before records or topics are deleted on purpose: what was never seen cannot be asked after.
        """
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        logs = [log for topic in topics for log in logs_of(admin, topic)]
        starts, ends = _offsets(admin, logs, OffsetSpec.earliest()), _offsets(admin, logs, OffsetSpec.latest())
        wanted: dict[tuple[str, int], tuple[LogKey, int]] = {}
        for log in logs:
            records = self.partitions.setdefault(log, PartitionRecords())
            if starts[log] > records.read_to:
                records.removed.append((records.read_to, starts[log]))
                records.read_to = starts[log]
            if records.read_to < ends[log]:
                wanted[(log.topic, log.partition)] = (log, ends[log])
        if wanted:
            self._read(bootstrap, wanted, seconds)

    def _read(self, bootstrap: str, wanted: dict[tuple[str, int], tuple[LogKey, int]], seconds: float) -> None:
        consumer = ck.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "oracle-unused",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "log_level": 0,
            }
        )
        try:
            starts = [ck.TopicPartition(*tp, self.partitions[log].read_to) for tp, (log, _) in wanted.items()]
            consumer.assign(starts)
            deadline = time.monotonic() + seconds
            while wanted:
                if time.monotonic() > deadline:
                    message = f"Kafka did not show {sorted(map(str, wanted))} to their ends within {seconds:.0f} s"
                    raise TimeoutError(message)
                for one in consumer.consume(10_000, 0.2):
                    self._take(one, wanted)
        finally:
            consumer.close()

    def _take(self, message: ck.Message, wanted: dict[tuple[str, int], tuple[LogKey, int]]) -> None:
        tp = (message.topic() or "", message.partition() or 0)
        offset = message.offset() or 0
        error = message.error()
        if error is not None and error.code() != ck.KafkaError._PARTITION_EOF:
            if error.retriable() or error.code() in (ck.KafkaError._TRANSPORT, ck.KafkaError._ALL_BROKERS_DOWN):
                return
            raise ck.KafkaException(error)
        if tp not in wanted:
            return
        log, end = wanted[tp]
        if error is None and offset < end:
            headers: Any = message.headers() or ()
            self.put(log, offset, _bytes(message.value()), _bytes(message.key()), headers)
        # at the end of a partition the offset is the position: past gaps that no record shows
        if offset + (error is None) >= end:
            self.partitions[log].read_to = end
            del wanted[tp]


def _bytes(text: str | bytes | None) -> bytes | None:
    return text.encode() if isinstance(text, str) else text


def logs_of(admin: AdminClient, topic: str) -> list[LogKey]:
    """Return the partitions of a topic as it is now; none if it does not exist."""
    try:
        facts = admin.describe_topics(ck.TopicCollection([topic]), request_timeout=30)[topic].result(60)
    except ck.KafkaException as error:
        if error.args[0].code() == ck.KafkaError.UNKNOWN_TOPIC_OR_PART:
            return []
        raise
    return [LogKey(topic, str(facts.topic_id), p.id) for p in facts.partitions]


def _offsets(admin: AdminClient, logs: Iterable[LogKey], spec: OffsetSpec) -> dict[LogKey, int]:
    asked = {ck.TopicPartition(log.topic, log.partition): spec for log in logs}
    if not asked:
        return {}
    committed = ck.IsolationLevel.READ_COMMITTED
    answers = admin.list_offsets(asked, isolation_level=committed, request_timeout=30)
    found = {(tp.topic, tp.partition): future.result(60).offset for tp, future in answers.items()}
    return {log: found[(log.topic, log.partition)] for log in logs}
