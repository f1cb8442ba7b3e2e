"""The stamping producer: numbered records, and a log of what the broker acknowledged, and where."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from stack.progress import wait_until
from tests.faults.oracle.kafka_log import logs_of
from tests.faults.oracle.stamps import BROKEN, JsonStamps, Stamp, StampFormat, checksum, raw_stamp
from tests.support.runs.poison import Poison


@dataclass
class Acks:
    """What became of every record: acknowledged at a place, to be aborted, or unknown.

    An unknown one (its broker died before it answered) may or may not be in the log; both are right. ``poison``: records
    that must become letters; those of ``doubtful`` may. ``meant``: the tables of a record, all of them unless given.
    """

    places: dict[Stamp, tuple[str, int, int]] = field(default_factory=dict)
    aborted: set[Stamp] = field(default_factory=set)
    unknown: set[Stamp] = field(default_factory=set)
    tombstones: int = 0
    poison: dict[Stamp, Poison] = field(default_factory=dict)
    doubtful: set[Stamp] = field(default_factory=set)
    meant: dict[Stamp, frozenset[str]] = field(default_factory=dict)


class StampingProducer:
    """Writes stamped records into one topic.

    ``more``: further fields of each record, made from its number. ``stamps``: how records are written, JSON unless given.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        seed: int = 1,
        more: Callable[[int], Mapping[str, Any]] | None = None,
        largest: int = 1_000_000,
        stamps: StampFormat | None = None,
    ):
        self.topic = topic
        self.acks = Acks()
        self.stamps = stamps or JsonStamps()
        self._bootstrap = bootstrap
        self._largest = largest
        self._run = uuid.uuid4().hex[:8]
        self._seq = 0
        self._random = random.Random(seed)
        self._more = more or (lambda _: {})
        self.routes: Mapping[str, Collection[str]] = {}
        """The tables that a record is meant for by its field ``to``; with any, each numbered record gets one at random."""
        self._producer = ck.Producer(self._conf())
        self._open: list[ck.Producer] = []

    @property
    def produced(self) -> int:
        """How many records were stamped so far, aborted ones included."""
        return self._seq

    def partitions(self) -> list[int]:
        """Return the topic's partitions."""
        found: list[int] = []

        def are_known() -> bool:
            # a topic that was just created is described before it has partitions
            found[:] = sorted(self._producer.list_topics(self.topic, timeout=30).topics[self.topic].partitions)
            return bool(found)

        assert wait_until(are_known, 30), f"topic {self.topic!r} has no partitions"
        return found

    def produce(self, count: int, partition: int | None = None, pad: int = 20, flush: float = 60) -> None:
        """Produce records to one partition, or to any; what is not acknowledged within ``flush`` s is unknown."""
        self._send(self._producer, count, partition, pad)
        self._producer.flush(flush)

    def keyed(self, keys: list[str | None], partition: int = 0) -> None:
        """Produce one record for each key, as a compacted topic wants them."""
        for key in keys:
            self._one(self._producer, partition, 20, key)
        self._producer.flush(60)

    def tombstones(self, count: int, partition: int = 0, key: str | None = None) -> None:
        """Produce records without a value."""
        for _ in range(count):
            self._producer.produce(self.topic, value=None, key=key, partition=partition)
        self._producer.flush(60)
        self.acks.tombstones += count

    def write(
        self,
        poison: Poison | None = None,
        partition: int = 0,
        meant: Collection[str] | None = None,
        *,
        doubtful: bool = False,
        key: bytes | None = None,
        headers: Collection[tuple[str, bytes | None]] = (),
        value: bytes | None = None,
        **fields: Any,
    ) -> Stamp:
        """Produce one record with further fields, spoiled by ``poison``, meant for some tables; see ``Acks``.

        ``value``: its bytes, for which it is answered that they read as the record. Not waited for: see ``flush``.
        """
        stamp = Stamp(self._run, self.topic, self._seq)
        self._seq += 1
        record = {**stamp._asdict(), "pad": "w", "crc": checksum(stamp, "w"), **fields}
        if value is None:
            value = poison.make(record) if poison is not None else self.stamps.write(stamp, "w", fields)
        is_whole = self.stamps.read(value) != BROKEN
        topic_id = "" if is_whole else self._topic_id()

        def declare(stamp: Stamp) -> None:
            if poison is not None:
                self.acks.poison[stamp] = poison
            if doubtful:
                self.acks.doubtful.add(stamp)
            if meant is not None:
                self.acks.meant[stamp] = frozenset(meant)

        def note(error: ck.KafkaError | None, message: ck.Message) -> None:
            assert error is None, error
            place = (self.topic, int(message.partition() or 0), int(message.offset() or 0))
            named = stamp if is_whole else raw_stamp(self.topic, topic_id, *place[1:])
            self.acks.places[named] = place
            declare(named)

        self._producer.produce(
            self.topic, value=value, key=key, headers=list(headers), partition=partition, on_delivery=note
        )
        self._producer.poll(0)
        return stamp

    def _topic_id(self) -> str:
        """Return which incarnation of the topic there is now."""
        self.partitions()  # waits for a topic that was just created
        admin = AdminClient({"bootstrap.servers": self._bootstrap, "log_level": 0})
        return next(iter(logs_of(admin, self.topic))).topic_id

    def next_value(self, **fields: Any) -> bytes:
        """Return the bytes that the record written next would have."""
        return self.stamps.write(Stamp(self._run, self.topic, self._seq), "w", fields)

    def flush(self) -> None:
        """Wait until everything is acknowledged."""
        assert self._producer.flush(60) == 0

    def abort(self, count: int, partition: int = 0) -> None:
        """Produce records in a transaction and abort it: they are in the log and never visible."""
        producer = self._begin(60_000)
        self.acks.aborted |= set(self._send(producer, count, partition, 20))
        producer.flush(30)
        producer.abort_transaction(30)

    def hang(self, count: int, partition: int = 0, timeout_ms: int = 600_000) -> Callable[[], None]:
        """Produce records in a transaction that stays open, and return what aborts it: readers wait before it."""
        producer = self._begin(timeout_ms)
        self.acks.aborted |= set(self._send(producer, count, partition, 20))
        producer.flush(30)
        self._open.append(producer)

        def release() -> None:
            producer.abort_transaction(30)
            self._open.remove(producer)

        return release

    def close(self) -> None:
        """Abort what is still open."""
        for producer in self._open:
            producer.abort_transaction(10)
        self._open.clear()

    def _conf(self, **more: Any) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._bootstrap,
            "linger.ms": 5,
            "log_level": 0,
            "enable.idempotence": True,
            "message.max.bytes": self._largest,
            **more,
        }

    def _begin(self, timeout_ms: int) -> ck.Producer:
        transaction = {"transactional.id": f"stamps-{uuid.uuid4().hex}", "transaction.timeout.ms": timeout_ms}
        producer = ck.Producer(self._conf(**transaction))
        producer.init_transactions(60)
        producer.begin_transaction()
        return producer

    def _send(self, producer: ck.Producer, count: int, partition: int | None, pad: int) -> list[Stamp]:
        return [self._one(producer, partition, pad) for _ in range(count)]

    def _one(self, producer: ck.Producer, partition: int | None, pad: int, key: str | None = None) -> Stamp:
        stamp = Stamp(self._run, self.topic, self._seq)
        self._seq += 1
        text = "".join(self._random.choices("abcdefghijüöß€", k=self._random.randrange(pad + 1)))
        fields = dict(self._more(stamp.seq))
        if self.routes:
            fields |= {"n": stamp.seq, "to": self._random.choice(sorted(self.routes))}
            self.acks.meant[stamp] = frozenset(self.routes[fields["to"]])
        value = self.stamps.write(stamp, text, fields)
        self.acks.unknown.add(stamp)
        target = {} if partition is None else {"partition": partition}
        deadline = time.monotonic() + 30
        while True:
            try:
                producer.produce(self.topic, value=value, key=key, on_delivery=self._taken(stamp), **target)
                break
            except BufferError:
                producer.poll(0.1)
            except ck.KafkaException as error:
                # a partition that was just added is known only after the topic was asked for again
                if error.args[0].code() != ck.KafkaError._UNKNOWN_PARTITION or time.monotonic() > deadline:
                    raise
                producer.list_topics(self.topic, timeout=10)
                time.sleep(0.1)
        producer.poll(0)
        return stamp

    def _taken(self, stamp: Stamp) -> Callable[[ck.KafkaError | None, ck.Message], None]:
        def note(error: ck.KafkaError | None, message: ck.Message) -> None:
            if error is None:
                self.acks.unknown.discard(stamp)
                self.acks.places[stamp] = (self.topic, int(message.partition() or 0), int(message.offset() or 0))

        return note
