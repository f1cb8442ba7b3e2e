"""Offsets that announcements of a connector had rows of for a table: the table may contain them."""

import json
from collections.abc import Collection, Iterator, Mapping

from floe.control import headers as h
from floe.control.topic_reader import ControlMessage, read_control
from floe.kafka.admin import Cluster
from floe.kafka.settings import KafkaSettings
from floe.model.ranges import OffsetRange, TopicPartition, ranges_from_json

MAX_RECORDS = 100_000
"""Records of the control topic that are searched, per partition, from the newest back."""


def announced_ranges(
    settings: KafkaSettings, topic: str, ends: Mapping[int, int], group_id: str, names: Collection[str]
) -> dict[str, set[OffsetRange]]:
    """Return by table the ranges that the group's announcements before ``ends`` have files of.

    Only what is announced is committed. So a table contains no offsets besides these, and those of announcements that
    retention has removed or that are older than ``MAX_RECORDS``. Raises what reading the control topic raises.
    """
    if not ends:
        return {}
    cluster = Cluster.of_control(settings)
    log_starts = cluster.log_starts([TopicPartition(topic, partition) for partition in ends])
    starts = {tp.partition: max(start, ends[tp.partition] - MAX_RECORDS) for tp, start in log_starts.items()}
    found: dict[str, set[OffsetRange]] = {}
    for message in read_control(settings, topic, starts, ends, group_id):
        ranges: tuple[OffsetRange, ...] | None = None
        for name in _with_files(message, names):
            ranges = _ranges(message) if ranges is None else ranges
            found.setdefault(name, set()).update(ranges)
    return found


def _with_files(message: ControlMessage, names: Collection[str]) -> Iterator[str]:
    """Yield those of the tables that an announcement has files of, or removes rows of."""
    text = message.headers.get(h.TABLES)
    if text is None or not any(json.dumps(name) in text for name in names):
        return
    try:
        tables = json.loads(text)
    except (ValueError, RecursionError):
        return
    if not isinstance(tables, dict):
        return
    for name in names:
        counts = tables.get(name)
        if isinstance(counts, dict) and (counts.get("files") or message.headers.get(h.KIND) == "replace"):
            yield name


def _ranges(message: ControlMessage) -> tuple[OffsetRange, ...]:
    """Return the ranges of an announcement; none if no announcement could have such a header."""
    try:
        return ranges_from_json(h.json_header(message.headers, h.RANGES))
    except (LookupError, TypeError, ValueError, AttributeError):
        return ()
