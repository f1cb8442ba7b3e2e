"""Lines of a Spark job keep their level and their logger."""

import logging
import uuid

import pytest

from floe.config.secrets.mask import learn
from floe.operators.spark.submit import OutputLine, RelayingHook, parse


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ERROR floe_job.driver.slice_tables: no", (logging.ERROR, "floe_job.driver.slice_tables", "no")),
        ("INFO floe: a: b", (logging.INFO, "floe", "a: b")),
        ("26/11/23 10:00:00 WARN NativeCodeLoader: slow", (logging.WARNING, "spark.NativeCodeLoader", "slow")),
        ("2026-11-23 10:00:00,123 ERROR Executor: task", (logging.ERROR, "spark.Executor", "task")),
        (
            "%4|1763.123|GETPID|rdkafka#producer-3| [thrd:main]: Not coordinator: retrying",
            (logging.WARNING, "floe.kafka.librdkafka", "GETPID [thrd:main]: Not coordinator: retrying"),
        ),
        ("anything else", (logging.INFO, "floe.spark", "anything else")),
    ],
)
def test_line_keeps_its_level_and_logger(line: str, expected: tuple[int, str, str]) -> None:
    assert tuple(parse(line)) == expected


@pytest.mark.parametrize("line", ["  File x", "Traceback (most recent call last):", "\tat org.x", "ValueError: no"])
def test_traceback_has_the_level_of_its_line(line: str) -> None:
    assert parse(line, OutputLine(logging.ERROR, "floe", "failed")) == (logging.ERROR, "floe", line)


def test_relay_hides_secrets_and_repetitions(caplog: pytest.LogCaptureFixture) -> None:
    secret = f"canary-{uuid.uuid4().hex}"
    learn({"password": secret})
    hook = RelayingHook.__new__(RelayingHook)
    hook._is_kubernetes = False
    refused = (
        "%3|17.{0}|FAIL|rdkafka#consumer-{0}| [thrd:h:1/bootstrap]: h:1/bootstrap: refused (after {0}ms in state X)\n"
    )
    lines = [*(refused.format(i) for i in range(60)), f"ERROR floe: it was {secret}\n", f"  {secret}\n", "\n"]
    with caplog.at_level(logging.INFO):
        hook._process_spark_submit_log(iter(lines))
    assert [(r.levelname, r.name, r.getMessage()) for r in caplog.records] == [
        ("ERROR", "floe.kafka.librdkafka", "FAIL [thrd:h:1/bootstrap]: h:1/bootstrap: refused (after 0ms in state X)"),
        ("ERROR", "floe", "it was <hidden>"),
        ("ERROR", "floe", "  <hidden>"),
    ]
