"""A diagnosis by a run's parameter: its lines, and what the page reads of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from floe.config import parse_connector
from floe.config.connection_fields import ConnectionFields
from floe.doctor import diagnosis as doctor
from floe.doctor.check import About, Finding
from floe.kafka.settings import KafkaSettings
from floe.operators import plan
from floe.operators.exceptions import ConnectionMissing
from tests.support.connectors import MINIMAL

SPARK = ConnectionFields("spark_default", "spark", "local[2]")


def findings(*_: Any, **asked: Any) -> Iterator[Finding]:
    assert asked == {"write": True, "spark": SPARK, "unusable": {}}
    yield About("brokers").ok("b:9092 can be reached")
    yield About("topics").problem("topic 't' does not exist", "create it")
    yield About("clocks").warning("the clocks differ by 40 s", "set them")


def test_findings_are_logged_by_level_and_left_for_the_page(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(doctor, "diagnose", findings)
    monkeypatch.setattr(plan, "connection_fields", lambda *_: SPARK)
    context: Any = {"ti": mock.Mock()}
    with caplog.at_level(logging.INFO, "floe.operators.plan"):
        plan.diagnose(parse_connector(MINIMAL), mock.Mock(spec=KafkaSettings), context)
    assert [(one.levelname, one.getMessage()) for one in caplog.records] == [
        ("INFO", "brokers: b:9092 can be reached"),
        ("ERROR", "topics: problem: topic 't' does not exist: create it"),
        ("WARNING", "clocks: warning: the clocks differ by 40 s: set them"),
        ("INFO", "diagnosis: 1 problems in 3 findings; nothing was read or committed"),
    ]
    (pushed,) = context["ti"].xcom_push.call_args_list
    assert pushed.kwargs["key"] == "return_value"
    assert pushed.kwargs["value"]["problems"] == 1
    assert [one["check"] for one in pushed.kwargs["value"]["findings"]] == ["brokers", "topics", "clocks"]


def test_missing_connection_to_spark_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def missing(*_: object) -> ConnectionFields:
        msg = "the Airflow connection 'spark_default' does not exist"
        raise ConnectionMissing(msg)

    def note(*_: object, **how: Any) -> list[Finding]:
        asked.update(how)
        return []

    monkeypatch.setattr(doctor, "diagnose", note)
    monkeypatch.setattr(plan, "connection_fields", missing)
    plan.diagnose(parse_connector(MINIMAL), mock.Mock(spec=KafkaSettings), {"ti": mock.Mock()})  # type: ignore[arg-type]
    assert asked["spark"] is None and "'spark_default' does not exist" in asked["unusable"]["spark"]
