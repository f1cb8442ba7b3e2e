"""What a reader's client reports, and settings that it takes for any amount of memory."""

from __future__ import annotations

import json
import logging
from contextlib import closing
from typing import Any

import pytest

from floe.kafka.reader_limits import MIB, ReaderLimits
from floe.kafka.settings import KafkaSettings
from floe_job.source.native.consumer import Consumer
from floe_job.source.reports import Reports, with_reports

WHERE = "[thrd:127.0.0.1:1/1]: 127.0.0.1:1/1: "


def test_statistics_tell_where_each_partition_is_fetched_next() -> None:
    reports = Reports()
    partitions = {"0": {"next_offset": 5}, "-1": {"next_offset": -1001}}
    reports.take_statistics(json.dumps({"topics": {"t": {"partitions": partitions}}}).encode())
    assert reports.next_offsets == {("t", 0): 5, ("t", -1): -1001}


def test_failure_is_noted_whatever_the_level(caplog: pytest.LogCaptureFixture) -> None:
    reports = Reports(level=0)
    reports.take_line(
        3, "FAIL", WHERE + "Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms in state CONNECT)"
    )
    assert reports.failure == "Connect to ipv4#127.0.0.1:1 failed: Connection refused"
    assert not reports.is_beyond_receive
    assert caplog.records == []


def test_answer_beyond_receive_is_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    reports = Reports(level=7)
    with caplog.at_level(logging.DEBUG):
        reports.take_line(3, "FAIL", WHERE + "Receive failed: Invalid response size 3283544 (0..3171364): increase it")
    assert reports.is_beyond_receive
    assert [record.levelno for record in caplog.records] == [logging.DEBUG]


@pytest.mark.parametrize(("given", "level"), [({}, 6), ({"log_level": 0}, 3), ({"log_level": "7"}, 7)])
def test_client_hands_over_errors_of_connections(given: dict[str, Any], level: int) -> None:
    assert with_reports(given) == {"log.queue": True, "log_level": level}


@pytest.mark.parametrize("memory", [64 * MIB, 400 * MIB, 64 * 1024 * MIB])
@pytest.mark.parametrize("largest", [MIB, 512 * MIB, 8 * 1024 * MIB])
def test_client_takes_the_settings_of_any_limits(memory: int, largest: int) -> None:
    limits = ReaderLimits(memory, largest)
    source = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0}
    conf = limits.reporting(dict(KafkaSettings(source, source, "the test").reader(limits)))
    assert conf["receive.message.max.bytes"] >= 100_000_000
    for settings in (limits.very_many(conf), limits.many(conf), limits.one_by_one(conf)):
        with closing(Consumer.open(settings, 1)):
            pass
    assert limits.one_by_one(conf)["receive.message.max.bytes"] >= 100_000_000
