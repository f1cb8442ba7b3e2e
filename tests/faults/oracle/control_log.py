"""The control topic, read raw: the headers of its committed records."""

from __future__ import annotations

from collections.abc import Iterable

import confluent_kafka as ck


def control_headers(bootstrap: str, topic: str) -> list[dict[str, str]]:
    """Return the headers of every committed record of a control topic of one partition."""
    consumer = ck.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "oracle-unused",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    found: list[dict[str, str]] = []
    try:
        consumer.assign([ck.TopicPartition(topic, 0, 0)])
        while True:
            message = consumer.poll(30)
            if message is None:
                raise TimeoutError(topic)
            error = message.error()
            if error is None:
                headers: Iterable[tuple[str, bytes | None]] = message.headers() or []  # type: ignore[assignment]
                found.append({name: (value or b"").decode() for name, value in headers})
            elif error.code() == ck.KafkaError._PARTITION_EOF:
                return found
            elif not error.retriable():
                raise ck.KafkaException(error)
    finally:
        consumer.close()
