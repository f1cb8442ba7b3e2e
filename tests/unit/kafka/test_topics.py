"""Topics are described by one request, whatever their number; the answer for one is no answer for the others."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AclOperation

from floe.kafka.access import Client, NotPermitted
from floe.kafka.admin import Cluster, TopicDescription
from floe.kafka.client_log import ClientLog

ALL = {AclOperation.READ, AclOperation.DESCRIBE}
ANSWERS: dict[str, Any] = {
    "free": ALL,
    "silent": None,
    "seen": {AclOperation.DESCRIBE},
    "hidden": ck.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    "missing": ck.KafkaError.UNKNOWN_TOPIC_OR_PART,
}


class Admin:
    """Gives prepared answers; ``asked``: the topics of each request, and whether rights were asked for."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[list[str], bool]] = []

    def describe_topics(self, topics: Any, **options: Any) -> dict[str, Future[Any]]:
        names = list(topics.topic_names)
        self.asked.append((names, options["include_authorized_operations"]))
        return {name: self._answer(self.answers[name]) for name in names}

    def list_offsets(self, asked: Any, **_options: Any) -> dict[ck.TopicPartition, Future[Any]]:
        return {tp: self._done(SimpleNamespace(offset=7, timestamp=-1, leader_epoch=3)) for tp in asked}

    @staticmethod
    def _done(answer: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(answer)
        return future

    def poll(self, _timeout: float) -> int:
        """Have nothing to log."""
        return 0

    @staticmethod
    def _answer(answer: Any) -> Future[Any]:
        future: Future[Any] = Future()
        answer = answer.pop(0) if isinstance(answer, list) else answer
        if isinstance(answer, int):
            future.set_exception(ck.KafkaException(ck.KafkaError(answer)))
        else:
            parts = [SimpleNamespace(id=1), SimpleNamespace(id=0)]
            future.set_result(SimpleNamespace(topic_id="T", partitions=parts, authorized_operations=answer))
        return future


@pytest.fixture
def cluster() -> Callable[[Admin], Cluster]:
    client = Client.of({"bootstrap.servers": "b:9092"}, "the connection")
    return lambda admin: Cluster(admin, ClientLog(), client)  # type: ignore[arg-type]


def test_topics_and_rights_take_one_request(cluster: Callable[[Admin], Cluster]) -> None:
    admin = Admin(ANSWERS)
    topics, denied = cluster(admin).readable(ANSWERS)
    assert denied == {"seen", "hidden"}
    assert topics == dict.fromkeys(("free", "silent", "seen"), TopicDescription("T", (0, 1)))
    assert admin.asked == [(list(ANSWERS), True)]


def test_a_log_that_is_emptied_while_it_is_asked_about_does_not_end_before_it_begins(
    cluster: Callable[[Admin], Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets = iter((12, 7))  # of the start, which was looked up last, and of the end
    admin = Admin(ANSWERS)
    found = SimpleNamespace(timestamp=-1, leader_epoch=3)

    def list_offsets(asked: Any, **_: Any) -> dict[ck.TopicPartition, Future[Any]]:
        offset = next(offsets)
        return {tp: admin._done(SimpleNamespace(**vars(found), offset=offset)) for tp in asked}

    monkeypatch.setattr(admin, "list_offsets", list_offsets)
    assert [(log.log_start, log.stable_end) for log in cluster(admin).logs(["free"])] == [(12, 12), (12, 12)]


def test_known_topics_are_not_asked_for_again(
    cluster: Callable[[Admin], Cluster],
) -> None:
    admin = Admin(ANSWERS)
    one = cluster(admin)
    logs = one.logs(["free"], one.readable(ANSWERS).topics)
    assert [(log.tp.partition, log.stable_end, log.epoch) for log in logs] == [(0, 7, 3), (1, 7, 3)]
    assert len(admin.asked) == 1


def test_topic_that_is_not_ready_is_asked_again_alone(cluster: Callable[[Admin], Cluster]) -> None:
    admin = Admin({"free": ALL, "new": [ck.KafkaError.LEADER_NOT_AVAILABLE, ALL]})
    assert set(cluster(admin).topics(["free", "new", "free"])) == {"free", "new"}
    assert [names for names, _ in admin.asked] == [["free", "new"], ["new"]]


def test_no_topics_ask_nothing_and_a_hidden_one_is_named(cluster: Callable[[Admin], Cluster]) -> None:
    admin = Admin(ANSWERS)
    assert cluster(admin).topics([]) == {}
    assert admin.asked == []
    with pytest.raises(NotPermitted, match="describe topic 'hidden'"):
        cluster(admin).topics(["free", "hidden"])
