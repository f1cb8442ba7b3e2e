"""What an administrator does to a cluster: topics, partitions, records and groups come and go."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

WITHIN = 90.0
"""Seconds for one request with all its repeats, a restarted broker's settling included."""

LAST_OFFSET = -1


@dataclass(frozen=True)
class ClusterAdmin:
    """Asks each time by a client of its own: one that lived through a broker's death may wait for an answer in vain."""

    bootstrap: str

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
        """Create a topic, again while an old one of its name is still being removed."""
        new = NewTopic(topic, num_partitions=partitions, config=dict(config or {}))
        self._ask(lambda admin: admin.create_topics([new])[topic], again={ck.KafkaError.TOPIC_ALREADY_EXISTS})

    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""
        self._ask(lambda admin: admin.delete_topics([topic])[topic], done={ck.KafkaError.UNKNOWN_TOPIC_OR_PART})

    def add_partitions(self, topic: str, count: int) -> None:
        """Give a topic more partitions."""
        self._ask(
            lambda admin: admin.create_partitions([NewPartitions(topic, count)])[topic],
            done={ck.KafkaError.INVALID_PARTITIONS},
        )

    def delete_records(self, topic: str, before: Mapping[int, int]) -> None:
        """Remove the records below offsets, as retention does; ``LAST_OFFSET`` removes all."""
        for partition, offset in before.items():
            tp = ck.TopicPartition(topic, partition, offset)
            self._ask(lambda admin, tp=tp: admin.delete_records([tp])[tp])  # type: ignore[misc]

    def delete_group(self, group: str) -> None:
        """Delete a group with its offsets."""
        self._ask(lambda admin: admin.delete_consumer_groups([group])[group], done={ck.KafkaError.GROUP_ID_NOT_FOUND})

    def _ask(
        self,
        request: Callable[[AdminClient], Future[Any]],
        done: Collection[int] = (),
        again: Collection[int] = (),
    ) -> None:
        """Ask until it is done. ``done``: errors that say so after a repeat; ``again``: those that pass."""
        deadline = time.monotonic() + WITHIN
        is_repeat = False
        while True:
            admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, "socket.timeout.ms": 15_000})
            try:
                request(admin).result(20)
            except (ck.KafkaException, TimeoutError) as error:
                code = error.args[0].code() if isinstance(error, ck.KafkaException) else None
                if code in done and is_repeat:
                    return
                if time.monotonic() > deadline or (code is not None and code not in {*again, *_PASSING}):
                    raise
                is_repeat = True
                time.sleep(0.2)
            else:
                return


_PASSING = {
    ck.KafkaError._TIMED_OUT,
    ck.KafkaError._TRANSPORT,
    ck.KafkaError._ALL_BROKERS_DOWN,
    ck.KafkaError.REQUEST_TIMED_OUT,
    ck.KafkaError.NOT_COORDINATOR,
    ck.KafkaError.COORDINATOR_NOT_AVAILABLE,
    ck.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ck.KafkaError.NOT_LEADER_FOR_PARTITION,
    ck.KafkaError.LEADER_NOT_AVAILABLE,
}
