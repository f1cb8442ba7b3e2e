"""Row 41: what a connector may do is taken away in the middle of a run, and given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.faults.harness.sink import MakeSink, Sink
from tests.support.kafka.secured import Acl, SecuredBroker, least_acls


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    one = SecuredBroker.start(tmp_path_factory.mktemp("secured"))
    yield one
    one.broker.stop()


@pytest.fixture
def logged_in(secured: SecuredBroker, make_sink: MakeSink) -> Callable[..., Sink]:
    """A factory: a sink that logs in, with the fewest ACLs."""

    def make(topics: int) -> Sink:
        sink = make_sink(secured.broker.bootstrap, topics=topics)
        sink.admin.create_topic(sink.control_topic, 1)
        secured.grant(least_acls(sink.name, sink.topics))
        sink.kafka = secured.login("SASL", "SCRAM-SHA-256")
        for producer in sink.producers.values():
            producer.produce(200)
        sink.run()
        for producer in sink.producers.values():
            producer.produce(200)
        return sink

    return make


def offsets(sink: Sink, topic: str) -> int:
    return sum(mark.offset for (name, _), mark in sink.marks().items() if name == topic)


def test_row_41_acl_of_one_topic_is_revoked_in_mid_run(secured: SecuredBroker, logged_in: Callable[..., Sink]) -> None:
    sink = logged_in(2)
    kept, lost = sink.topics
    run = sink.new_run()
    assert run.step("plan").is_done
    read = Acl(ResourceType.TOPIC, lost, AclOperation.READ)
    secured.grant([Acl(ResourceType.TOPIC, lost, AclOperation.DESCRIBE)])
    secured.revoke(read)
    failed = run.step("write")
    assert not failed.is_done
    assert lost in failed.message, failed
    assert run.step("commit").error == "SliceNotWritten"
    assert [offsets(sink, topic) for topic in sink.topics] == [200, 200]
    assert sink.judge(is_quiet=False).is_green
    outcomes = sink.new_run().carry_out()
    assert [one.error for one in outcomes] == ["", "", "TopicsLeftOut"], outcomes
    assert [offsets(sink, topic) for topic in (kept, lost)] == [400, 200]
    assert sink.judge(is_quiet=False).is_green
    secured.grant([read])
    sink.assert_exactly_once()


def test_row_41_user_is_taken_away_in_mid_run(secured: SecuredBroker, logged_in: Callable[..., Sink]) -> None:
    sink = logged_in(1)
    run = sink.new_run()
    assert run.step("plan").is_done
    run.change(kafka={**sink.kafka, "sasl.password": "an0ther-passw0rd"})
    for step in ("write", "commit"):
        failed = run.step(step)
        assert not failed.is_done
        assert failed.error in ("KafkaLoginRefused", "KafkaUnreachable"), failed
        assert "an0ther" not in failed.message
    assert offsets(sink, sink.topic) == 200
    assert sink.judge(is_quiet=False).is_green
    run.change(kafka=sink.kafka)
    assert run.persist("write").is_done
    assert run.persist("commit").is_done
    sink.assert_exactly_once()
