"""How much memory the readers of topics take: the sizes of a client's buffers, out of two keys of the connector."""

from dataclasses import dataclass
from typing import Any

MIB = 1024 * 1024

SMALLEST_RECEIVE, LARGEST_RECEIVE = 100_000_000, 2_000_000_000
"""Bounds of ``receive.message.max.bytes``: librdkafka's own default, and about what it takes at most."""

_FETCH_SIZES = ("fetch.message.max.bytes", "max.partition.fetch.bytes")


@dataclass(frozen=True)
class ReaderLimits:
    """Bytes: ``memory`` that a worker is meant to take, ``largest_batch`` of Kafka's that it reads, decompressed."""

    memory: int = 400 * MIB
    largest_batch: int = 512 * MIB

    @property
    def queue_bytes(self) -> int:
        """What waits in the client."""
        return self.memory * 16 // 100

    @property
    def batch_bytes(self) -> int:
        """Values after which records are handed on."""
        return self.memory * 8 // 100

    @property
    def heavy_bytes(self) -> int:
        """Values of one fetch that are handled before the next is asked for."""
        return self.memory // 16

    @property
    def receive_bytes(self) -> int:
        """The largest answer, or batch once decompressed, that the client takes."""
        return min(max(SMALLEST_RECEIVE, self.largest_batch + MIB), LARGEST_RECEIVE)

    def one_by_one(self, conf: dict[str, Any]) -> dict[str, Any]:
        """Return a reader's settings with which each fetch brings one batch, and nothing is fetched ahead.

        A broker answers at least a whole batch, and the client decompresses all of an answer at once.
        """
        others = {key: value for key, value in conf.items() if key not in _FETCH_SIZES}
        sizes = {"fetch.message.max.bytes": 1, "queued.min.messages": 1, "queued.max.messages.kbytes": 1}
        return {**others, **sizes}
