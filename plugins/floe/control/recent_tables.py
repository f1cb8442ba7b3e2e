"""Tables that a connector wrote recently, by its control topic."""

import json
from collections import deque
from collections.abc import Iterator, Mapping

from floe.config.names import table_problem
from floe.control import headers as h
from floe.control.topic_reader import read_control
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.ranges import TopicPartition

MAX_RECORDS = 5_000
"""Records of the control topic that are read, per partition."""

MAX_CHARACTERS = 4_000_000
"""Characters of their headers that are read, the newest first."""

MAX_TABLES = 2_000
"""Tables that are returned, the newest first."""


def recent_tables(settings: KafkaSettings, topic: str, ends: Mapping[int, int], group_id: str) -> frozenset[str]:
    """Return the tables that the group's last announcements before ``ends`` name, at most ``MAX_TABLES``.

    The result is only a hint that saves work: a user who may write to the topic may name any table, in any header.
    """
    cluster = Cluster.of_control(settings)
    log_starts = cluster.log_starts([TopicPartition(topic, partition) for partition in ends])
    starts = {tp.partition: max(start, ends[tp.partition] - MAX_RECORDS) for tp, start in log_starts.items()}
    texts: deque[str] = deque()
    characters = 0
    for message in read_control(settings, topic, starts, ends, group_id):
        if (text := message.headers.get(h.TABLES)) is None:
            continue
        texts.append(text)
        characters += len(text)
        while characters > MAX_CHARACTERS:
            characters -= len(texts.popleft())
    return frozenset(_newest(texts))


def _newest(texts: deque[str]) -> dict[str, None]:
    found: dict[str, None] = {}
    for text in reversed(texts):
        for name in _names(text):
            if len(found) == MAX_TABLES:
                return found
            found[name] = None
    return found


def _names(text: str) -> Iterator[str]:
    """Yield the tables of a header; none if no announcement could have it."""
    try:
        tables = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(tables, dict):
        yield from (name for name in tables if not table_problem(name))
