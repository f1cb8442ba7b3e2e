"""How old the oldest unread record is, and when retention removes it."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from floe.kafka.access import NotPermitted
from floe.kafka.admin import Cluster
from floe.kafka.record_times import record_times
from floe.kafka.settings import KafkaSettings
from floe.status.model import PartitionStatus

MAX_PARTITIONS: Final = 100
"""Partitions of which a record is read, those with the largest lag."""

MAX_SECONDS: Final = 5.0


class UnreadAge(NamedTuple):
    """``lag_seconds``: since the oldest unread record was written. ``seconds_until_lost``: until retention removes it.

    Both are None where nothing is unread or no timestamp was found, the second also where the topics keep their records,
    or floe may not see their configuration. Only ``retention.ms`` counts: of ``retention.bytes`` no moment is known.
    """

    lag_seconds: float | None = None
    seconds_until_lost: float | None = None

    @classmethod
    def of(cls, partitions: Sequence[PartitionStatus], settings: KafkaSettings, now: datetime) -> UnreadAge:
        """Ask the brokers. Raises the errors of ``floe.kafka``, and KafkaException."""
        behind = heapq.nlargest(MAX_PARTITIONS, (one for one in partitions if one.lag), key=lambda one: one.lag)
        starts = {one.tp: max(one.committed or 0, one.log_start) for one in behind}
        times = record_times(settings, starts, MAX_SECONDS)
        if not times:
            return cls()
        retention = _retention_ms(settings, {tp.topic for tp in times})
        now_ms = now.timestamp() * 1000
        oldest = min(times.values())
        lost = [
            max(0.0, at + kept - now_ms) for tp, at in times.items() if (kept := retention.get(tp.topic)) is not None
        ]
        return cls(max(0.0, now_ms - oldest) / 1000, min(lost) / 1000 if lost else None)


def _retention_ms(settings: KafkaSettings, topics: Collection[str]) -> dict[str, int]:
    """Return how long topics keep their records; without those that keep them for ever."""
    cluster = Cluster.of_source(settings)
    try:
        found = {topic: cluster.retention_ms(topic) for topic in sorted(topics)}
    except NotPermitted:
        return {}
    return {topic: kept for topic, kept in found.items() if kept is not None}
