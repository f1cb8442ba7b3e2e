"""What a client of librdkafka reports: how far it has fetched, and its log.

Reports are received while the client is polled, in the thread that polls it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from ctypes import string_at
from dataclasses import dataclass, field
from typing import Any

from floe.kafka import client_log
from floe_job.source.native import librdkafka

LOG_QUEUE = "log.queue"
_LEVEL, _ERRORS, _DEFAULT, _DEBUG = "log_level", 3, 6, 7
_ANSWER_TOO_LARGE = "Invalid response size"
_FAILURES = ("FAIL", "RESOLVE", "SSL", "SASL")


@dataclass
class Reports:
    """The last reports of a client. ``next_offsets``: by topic and partition, the offset that it fetches from next.
    ``failure``: why a connection failed. ``level``: up to which its lines are logged.
    """

    level: int = _DEFAULT
    next_offsets: dict[tuple[str, int], int] = field(default_factory=dict)
    failure: str | None = None

    @property
    def is_beyond_receive(self) -> bool:
        """Whether a connection ended because an answer was larger than ``receive.message.max.bytes``.

        The client repeats the same request forever.
        """
        return self.failure is not None and _ANSWER_TOO_LARGE in self.failure

    def take_statistics(self, text: bytes) -> None:
        """Note the offsets in a report, which is JSON as librdkafka's STATISTICS.md describes it."""
        for topic, one in json.loads(text)["topics"].items():
            for partition, state in one["partitions"].items():
                self.next_offsets[topic, int(partition)] = state["next_offset"]

    def take_line(self, level: int, facility: str, text: str) -> None:
        """Log a line, and note why a connection failed."""
        if facility in _FAILURES:
            self.failure = client_log.reason_of(text)
        if self.is_beyond_receive:
            level = _DEBUG  # the reader continues in another mode, or raises the error itself
        if level <= self.level:
            client_log.write(client_log.LEVELS[level], facility, text)


def with_reports(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a client that passes its log, with all errors of connections, to the thread that polls it."""
    return {**conf, LOG_QUEUE: True, _LEVEL: max(level_of(conf), _ERRORS)}


def register(settings: int) -> None:
    """Make the client of these settings report."""
    librdkafka.conf_set_stats_cb(settings, _statistics)
    librdkafka.conf_set_log_cb(settings, _log)


def begin(client: int, conf: Mapping[str, Any]) -> Reports:
    """Return where a client's reports are kept, until ``forget`` is called. ``conf``: as given to ``with_reports``."""
    _reports[client] = Reports(level_of(conf))
    librdkafka.set_log_queue(client, None)
    return _reports[client]


def forget(client: int) -> None:
    """Stop keeping reports of a client."""
    _reports.pop(client, None)


_reports: dict[int, Reports] = {}


def level_of(conf: Mapping[str, Any]) -> int:
    """Return the level up to which a client logs, as its settings have it."""
    given = conf.get(_LEVEL)
    return _DEFAULT if given is None else int(given)


def _take_statistics(client: int, text: int, size: int, _: int | None) -> int:
    reports = _reports.get(client)
    if reports is not None:
        reports.take_statistics(string_at(text, size))
    return 0  # librdkafka frees the text


def _take_line(client: int, level: int, facility: bytes, text: bytes) -> None:
    reports = _reports.get(client)
    if reports is not None:
        reports.take_line(level, facility.decode(errors="replace"), text.decode(errors="replace"))


# these must exist as long as any client that may call them
_statistics = librdkafka.StatisticsCallback(_take_statistics)
_log = librdkafka.LogCallback(_take_line)
