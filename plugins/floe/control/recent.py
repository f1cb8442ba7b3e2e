"""Tables that a connector wrote lately, as the control topic tells."""

from collections.abc import Mapping
from contextlib import suppress

from floe.config.names import table_problem
from floe.control import headers as h
from floe.control.log import read_control
from floe.kafka.cluster import Cluster
from floe.kafka.settings import KafkaSettings
from floe.offsets.ranges import TopicPartition

MOST_RECORDS = 5_000
"""Of the control topic, per partition, that are looked at."""


def recent_tables(settings: KafkaSettings, topic: str, ends: Mapping[int, int], group_id: str) -> frozenset[str]:
    """Return the tables that the group's last announcements before ``ends`` name.

    It is a guess that saves work, no more: whoever may write to the topic may name any table.
    """
    cluster = Cluster.of_control(settings)
    log_starts = cluster.log_starts([TopicPartition(topic, partition) for partition in ends])
    starts = {tp.partition: max(start, ends[tp.partition] - MOST_RECORDS) for tp, start in log_starts.items()}
    found: set[str] = set()
    for message in read_control(settings, topic, starts, ends, group_id):
        if h.TABLES in message.headers:
            with suppress(ValueError):
                tables = h.json_header(message.headers, h.TABLES)
                found |= {str(table) for table in tables if not table_problem(str(table))}
    return frozenset(found)
