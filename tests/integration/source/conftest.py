"""The consumers of the source."""

from __future__ import annotations

from typing import Any

import pytest

from floe.kafka.settings import KafkaSettings
from floe_job.source import range_reader
from stack.services.broker import Broker


@pytest.fixture(params=["fast", "portable"])
def client(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The consumer that reads: a module that uses this has every test for both."""
    if request.param == "portable":
        monkeypatch.setattr(range_reader, "obstacle", lambda *_: "the test wants it")
    return str(request.param)


@pytest.fixture
def conf(broker: Broker) -> dict[str, Any]:
    settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0}
    return dict(KafkaSettings(settings, settings, "the test").reader())
