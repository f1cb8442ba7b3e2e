"""What bounds the readers of topics: the sizes of a client's buffers, out of two keys of the connector, and its silence."""

from dataclasses import dataclass
from typing import Any

MIB = 1024 * 1024

MIN_RECEIVE_BYTES, MAX_RECEIVE_BYTES = 100_000_000, 2_000_000_000
"""Bounds of ``receive.message.max.bytes``: librdkafka's own default, and about what it takes at most."""

MIN_ANSWER_BYTES = 1000
"""The smallest ``fetch.max.bytes``. A partition's own limit is no limit: the client doubles it after each answer that had no
record for the reader, as those of aborted transactions."""

SMALL_BATCH = 1_048_588
"""Bytes of the largest batch that brokers take by default (``message.max.bytes``)."""

TINY_BATCH = 64 * 1024
"""Bytes of the largest batch, decompressed, that answers of very many batches are for: producers fill 16 kB by default."""

ZSTD_STEPS = 3
"""By what the client enlarges its buffer for a zstd batch that does not say how large it is, until it suffices."""

LOOK = 10
"""Milliseconds that a client which is sent one batch at a time leaves to look at it before it fetches the next."""

REPORTS = 4
"""How often a client reports its progress within the time after which a range counts as stalled."""

_FETCH_SIZES = ("fetch.message.max.bytes", "max.partition.fetch.bytes")


@dataclass(frozen=True)
class ReaderLimits:
    """Bytes: ``memory`` that a worker is meant to take, ``largest_batch`` of Kafka's that it reads, decompressed.

    ``stall_seconds``: without progress, after which a range counts as stalled. ``is_portable``: read by confluent-kafka's
    public interface alone.
    """

    memory: int = 400 * MIB
    largest_batch: int = 512 * MIB
    stall_seconds: float = 60.0
    is_portable: bool = False

    @property
    def queue_bytes(self) -> int:
        """What waits in the client, which takes no more than two gigabytes."""
        return min(self.memory * 16 // 100, MAX_RECEIVE_BYTES)

    @property
    def batch_bytes(self) -> int:
        """Values after which records are handed on."""
        return self.memory * 8 // 100

    @property
    def answer_bytes(self) -> int:
        """What an answer of many batches has on the wire, at most, unless its first batch is larger."""
        return max(self.memory // 16384, MIN_ANSWER_BYTES)

    @property
    def long_answer_bytes(self) -> int:
        """What an answer of tiny batches has on the wire, at most."""
        return max(self.memory // 2048, MIN_ANSWER_BYTES)

    @property
    def heavy_bytes(self) -> int:
        """A batch, decompressed, that is handled before the next is fetched."""
        return self.memory // 16

    @property
    def unsure_bytes(self) -> int:
        """What may be one batch of without a closer look, where several batches are not told apart."""
        return min(self.heavy_bytes, self.largest_batch)

    @property
    def receive_bytes(self) -> int:
        """The largest answer that the client takes, and the largest buffer for a zstd batch."""
        return min(max(MIN_RECEIVE_BYTES, ZSTD_STEPS * self.largest_batch + MIB), MAX_RECEIVE_BYTES)

    def reporting(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which it reports its progress often enough to notice that there is none."""
        return {**conf, "statistics.interval.ms": max(1, int(self.stall_seconds * 1000 / REPORTS))}

    def many(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which each answer brings many small batches, bounded also once decompressed.

        The client decompresses all batches of an answer before any is handed out: by up to 1,032 times what they are on the
        wire with gzip, 255 times with lz4, 21 times with snappy. zstd knows no such bound, but the client decompresses none
        of its batches beyond ``receive.message.max.bytes``: with that at three times the largest batch that brokers take
        by default, an answer grows up to 18,000 times. What needs more is read one by one.
        """
        return {**conf, **_answers(self.answer_bytes, SMALL_BATCH)}

    def very_many(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which each answer brings eight times as many batches, which have to be tiny.

        Over a network each answer takes its time, however small it is. What becomes of this one is bounded as well: zstd
        batches beyond three times ``TINY_BATCH`` are not decompressed, others grow by their known factor.
        """
        return {**conf, **_answers(self.long_answer_bytes, TINY_BATCH)}

    def one_by_one(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which each answer brings one batch, and nothing is fetched ahead.

        A broker answers at least a whole batch. What was handed out may be looked at for some time before more is fetched.
        """
        others = {key: value for key, value in conf.items() if key not in _FETCH_SIZES}
        sizes = {
            "fetch.message.max.bytes": 1,
            "fetch.max.bytes": MIN_ANSWER_BYTES,
            "message.max.bytes": MIN_ANSWER_BYTES,
            "queued.min.messages": 1,
            "queued.max.messages.kbytes": 1,
            "fetch.queue.backoff.ms": LOOK,
        }
        return {**others, **sizes}


def _answers(most: int, largest_batch: int) -> dict[str, int]:
    """Return the sizes of answers of ``most`` bytes on the wire, whose batches have ``largest_batch`` decompressed."""
    return {
        "fetch.max.bytes": most,
        "message.max.bytes": MIN_ANSWER_BYTES,
        "receive.message.max.bytes": ZSTD_STEPS * largest_batch + most,
    }
