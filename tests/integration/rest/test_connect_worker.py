"""A real Connect worker is asked what floe is asked, and its answers are those that the quick test compares floe with.

``FLOE_RECORD=1`` writes them, after a change of the calls or of Connect's version.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack.services.broker import Broker
from tests.support.rest.connect_calls import ANSWERS, TOPIC, Answer, run, without_own
from tests.support.rest.connect_worker import ConnectWorker

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def answers(
    broker: Broker, admin: AdminClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Answer]]:
    """What the worker answers to all calls."""
    topics = [NewTopic(TOPIC, num_partitions=1), NewTopic("rest-control", num_partitions=1)]
    for done in admin.create_topics(topics).values():
        done.result(30)
    worker = ConnectWorker(tmp_path_factory.mktemp("connect"), broker.bootstrap)
    try:
        worker.start()
        yield run(worker.send, worker.settle)
    finally:
        worker.stop()


def test_worker_answers_as_it_was_recorded(answers: dict[str, Answer]) -> None:
    found = {name: without_own(answer).to_json() for name, answer in answers.items()}
    if os.environ.get("FLOE_RECORD"):
        Path(ANSWERS).write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(Path(ANSWERS).read_text())
