"""A connector with the fewest ACLs on the secured broker, and time limits for failing logins."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.kafka.secured import SecuredBroker, least_acls
from tests.support.runs.pipeline import Pipeline


@pytest.fixture
def secured_pipeline(secured: SecuredBroker, tmp_path: Path) -> Callable[..., Pipeline]:
    """A factory: a connector on topics of ten records each, with its ACLs and no more."""

    def make(topics: int = 1, dead_letters: bool = False, **more: Any) -> Pipeline:
        name = f"c-{uuid.uuid4().hex[:8]}"
        names = [secured.topic(f"topic-{number}-{name}") for number in range(topics)]
        secured.topic(f"control-{name}")
        dead = secured.topic(f"dead-{name}") if dead_letters else None
        if dead is not None:
            more |= {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": dead}
        secured.grant(least_acls(name, names, dead))
        for topic in names:
            one = Pipeline.make(secured.broker.bootstrap, topic, tmp_path, name=name, **more)
            one.produce({"id": i, "topic": topic} for i in range(10))
        return Pipeline.make(secured.broker.bootstrap, names[0], tmp_path, name=name, **more).changed(
            topics=",".join(names)
        )

    return make


@pytest.fixture
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients wait ten seconds for brokers that do not answer: the client itself waits more than three, now and then."""
    for module in ("admin", "transactions"):
        monkeypatch.setattr(f"floe.kafka.{module}.REQUEST_TIMEOUT", 10.0)
