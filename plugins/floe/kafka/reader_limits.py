"""Limits of topic readers: the sizes of a client's buffers, from two keys of the connector, and the time without progress."""

from dataclasses import dataclass
from typing import Any

MIB = 1024 * 1024

MIN_RECEIVE_BYTES, MAX_RECEIVE_BYTES = 100_000_000, 2_000_000_000
"""Bounds of ``receive.message.max.bytes``: librdkafka's own default, and about its maximum."""

MIN_ANSWER_BYTES = 1000
"""The smallest ``fetch.max.bytes``. The limit per partition is not reliable: the client doubles it after each answer without
a record for the reader, such as those of aborted transactions."""

SMALL_BATCH = 1_048_588
"""Bytes of the largest batch that brokers accept by default (``message.max.bytes``)."""

TINY_BATCH = 64 * 1024
"""Bytes of the largest batch, decompressed, for answers of very many batches: producers fill 16 kB by default."""

ROOMY = 256 * MIB
"""Memory of a worker from which on it may request a megabyte at once."""

ZSTD_STEPS = 3
"""The factor by which the client repeatedly enlarges its buffer for a zstd batch of unknown size."""

LOOK = 10
"""Milliseconds in which a batch can be checked before the client, which gets one batch at a time, fetches the next."""

REPORTS = 4
"""How often a client reports its progress within the time after which a range counts as stalled."""

_FETCH_SIZES = ("fetch.message.max.bytes", "max.partition.fetch.bytes")


@dataclass(frozen=True)
class ReaderLimits:
    """Bytes: ``memory`` that a worker should use, ``largest_batch`` of Kafka's that it reads, decompressed.

    ``stall_seconds``: without progress, after which a range counts as stalled. ``is_portable``: read by confluent-kafka's
    public interface alone. ``has_short_answers``: no answer of the brokers gets longer than the shortest, whatever was read.
    """

    memory: int = 400 * MIB
    largest_batch: int = 512 * MIB
    stall_seconds: float = 60.0
    is_portable: bool = False
    has_short_answers: bool = False

    @property
    def queue_bytes(self) -> int:
        """Bytes queued in the client, whose maximum is two gigabytes."""
        return min(self.memory * 16 // 100, MAX_RECEIVE_BYTES)

    @property
    def batch_bytes(self) -> int:
        """Bytes of values after which records are passed on."""
        return self.memory * 8 // 100

    @property
    def answer_bytes(self) -> int:
        """Maximum bytes of an answer of many batches on the wire, unless its first batch is larger."""
        return max(self.memory // 16384, MIN_ANSWER_BYTES)

    @property
    def long_answer_bytes(self) -> int:
        """Maximum bytes of an answer of tiny batches on the wire."""
        return max(self.memory // 2048, MIN_ANSWER_BYTES)

    @property
    def uncompressed_answer_bytes(self) -> int:
        """Maximum bytes of an answer of batches that are not compressed: no more than one batch may have by default.

        A worker of little memory has no longer answers for them than for tiny batches.
        """
        return MIB if self.memory >= ROOMY else self.long_answer_bytes

    @property
    def heavy_bytes(self) -> int:
        """Bytes of a batch, decompressed, from which on it is handled before the next is fetched."""
        return self.memory // 16

    @property
    def unsure_bytes(self) -> int:
        """Bytes that may be one batch without further checks, if several batches cannot be distinguished."""
        return min(self.heavy_bytes, self.largest_batch)

    @property
    def receive_bytes(self) -> int:
        """The largest answer that the client accepts, and the largest buffer for a zstd batch."""
        return min(max(MIN_RECEIVE_BYTES, ZSTD_STEPS * self.largest_batch + MIB), MAX_RECEIVE_BYTES)

    def reporting(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which it reports its progress often enough to detect a stall."""
        return {**conf, "statistics.interval.ms": max(1, int(self.stall_seconds * 1000 / REPORTS))}

    def many(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which each answer contains many small batches, bounded also after decompression.

        The client decompresses all batches of an answer before it returns any: up to 1,032 times their size on the wire
        with gzip, 255 times with lz4, 21 times with snappy. zstd has no such bound, but the client does not decompress
        batches beyond ``receive.message.max.bytes``. This is three times the largest batch that brokers accept by
        default, so an answer grows up to 18,000 times. Larger batches are read one by one.
        """
        return {**conf, **_answers(self.answer_bytes, SMALL_BATCH)}

    def very_many(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which each answer contains eight times as many batches, which must be tiny.

        Over a network each answer takes time, however small it is. The decompressed size is bounded as well: zstd
        batches beyond three times ``TINY_BATCH`` are not decompressed, others grow by their known factor.
        """
        return {**conf, **_answers(self.long_answer_bytes, TINY_BATCH)}

    def uncompressed(self, conf: dict[str, Any], most: int = 0) -> dict[str, Any]:
        """Return a reader's settings with which each answer contains ``most`` bytes of batches that are not compressed.

        ``most`` is held between ``answer_bytes`` and ``uncompressed_answer_bytes``.

        If compressed ones follow, an answer takes up to what a single batch of that size may take, until one was seen:
        21 times with snappy, 255 times with lz4, 1,032 times with gzip. zstd batches beyond the answer and three times
        ``TINY_BATCH`` are not decompressed.
        """
        longest = self.uncompressed_answer_bytes
        sizes = _answers(longest, TINY_BATCH)
        return {**conf, **sizes, "fetch.max.bytes": max(min(most, longest), self.answer_bytes)}

    def one_by_one(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which each answer contains one batch, and nothing is fetched ahead.

        A broker returns at least a whole batch. The returned batch can be checked for some time before more is fetched.
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
