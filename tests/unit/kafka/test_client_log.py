"""What librdkafka logs: one logger, its own levels, each line once; and why a client could not connect."""

import logging
import socket

import pytest

from floe.kafka.admin import Cluster
from floe.kafka.client_log import ClientLog, Repetitions, parse_line, reason_of
from floe.kafka.exceptions import KafkaUnreachable
from floe.kafka.settings import FIRST_BACKOFF, QUIET


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "[thrd:127.0.0.1:1/bootstrap]: 127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused "
            "(after 0ms in state CONNECT)",
            "Connect to ipv4#127.0.0.1:1 failed: Connection refused",
        ),
        (
            "[thrd:sasl_plaintext://h:1/bootstrap]: sasl_plaintext://h:1/bootstrap: SASL authentication error: "
            "Authentication failed (after 310ms in state AUTH_REQ)",
            "SASL authentication error: Authentication failed",
        ),
        (
            "[thrd:none:9092/bootstrap]: none:9092/bootstrap: Failed to resolve 'none:9092': Name or service not known "
            "(after 3ms in state CONNECT)",
            "Failed to resolve 'none:9092': Name or service not known",
        ),
    ],
)
def test_reason_is_cut_out_of_the_line(line: str, reason: str) -> None:
    assert reason_of(line) == reason


@pytest.mark.parametrize(("level", "expected"), [(1, 50), (3, 40), (4, 30), (5, 20), (6, 20), (7, 10)])
def test_levels_of_syslog_are_pythons(level: int, expected: int) -> None:
    parsed = parse_line(f"%{level}|1763.1|FAIL|rdkafka#consumer-1| [thrd:main]: text | with a bar")
    assert parsed == (expected, "FAIL", "[thrd:main]: text | with a bar")
    assert parse_line("no line of librdkafka") is None


def test_repetition_counts_for_a_while() -> None:
    now = [0.0]
    repetitions = Repetitions(lambda: now[0])
    assert [repetitions.is_one("a 1"), repetitions.is_one("a 2"), repetitions.is_one("b")] == [False, True, False]
    now[0] = 61.0
    assert not repetitions.is_one("a 3")


def test_broker_that_is_down_is_told_with_the_real_reason(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("floe.kafka.admin.REQUEST_TIMEOUT", 2.0)
    monkeypatch.setattr("floe.kafka.admin.REQUEST_TIMEOUT", 2.0)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        address = f"127.0.0.1:{unused.getsockname()[1]}"
    conf = {"bootstrap.servers": address, "log_level": QUIET, "reconnect.backoff.ms": FIRST_BACKOFF}
    with caplog.at_level(logging.INFO), pytest.raises(KafkaUnreachable) as caught:
        Cluster.open(conf, "the Airflow connection 'kafka_dead'").cluster_id()
    assert str(caught.value).startswith(f"Kafka at {address} did not answer: Connect to ipv4#{address} failed: ")
    assert "Connection refused" in str(caught.value)
    lines = [record for record in caplog.records if record.name == "floe.kafka.librdkafka"]
    assert len(lines) <= 2
    assert "rdkafka" not in capfd.readouterr().err


def test_log_remembers_failures_only() -> None:
    log = ClientLog()
    log.log(logging.WARNING, "%s [%s] %s", "GETPID", "rdkafka#1", "[thrd:main]: retrying")

    class Silent:
        def poll(self, _: float) -> int:
            return 0

    assert log.drained(Silent()) is None
