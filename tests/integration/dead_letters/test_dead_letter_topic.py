"""Dead letters on the real broker: the topic is made once and as asked, letters arrive whole."""

from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable

import confluent_kafka as ck
import pytest

from floe.kafka.admin import Cluster, DeadLetterTopicUnusable, ensure_dead_letter_topic
from floe_job.contract.dead_letter import DeadLetter
from floe_job.dead_letters.topic import DeadLetterTopic
from floe_job.exceptions import DeadLetterRefused
from stack.services.broker import Broker

BEFORE = ("__connect.errors.topic", b"forged")
DEAD_LETTERS = [
    DeadLetter(
        "t",
        "T1",
        0,
        7,
        1_700_000_000_123,
        b"k",
        b"\xff{",
        (("h", b"1"), ("n", None), BEFORE),
        None,
        "value_converter",
        "E",
        "bad",
    ),
    DeadLetter("t", "T1", 0, 8, None, None, b"", (), "db.t", "coerce", "E", "too large"),
    DeadLetter("t", "T1", 1, 9, None, b"k", None, (), "db.t", "coerce", "E", "a tombstone that died"),
]


@pytest.fixture
def conf(broker: Broker) -> dict[str, object]:
    return {"bootstrap.servers": broker.bootstrap, "log_level": 0}


def consume(conf: dict[str, object], topic: str, count: int) -> list[ck.Message]:
    """Read the first ``count`` records of partition 0."""
    consumer = ck.Consumer({**conf, "group.id": "unused", "enable.auto.commit": False})
    consumer.assign([ck.TopicPartition(topic, 0, 0)])
    found: list[ck.Message] = []
    deadline = time.monotonic() + 30
    while len(found) < count and time.monotonic() < deadline:
        found += [m for m in consumer.consume(count, 0.5) if m.error() is None]
    consumer.close()
    return found


def test_missing_topic_is_created_with_one_partition_only_once(conf: dict[str, object]) -> None:
    name = f"letters-{uuid.uuid4().hex[:8]}"
    ensure_dead_letter_topic(Cluster.open(conf, "the test"), name, 1)
    made = Cluster.open(conf, "the test").topics([name])
    assert made[name].partitions == (0,)
    ensure_dead_letter_topic(Cluster.open(conf, "the test"), name, 3)
    assert Cluster.open(conf, "the test").topics([name]) == made


def test_more_replicas_than_brokers_are_refused_naming_the_key(conf: dict[str, object]) -> None:
    key = r"errors\.deadletterqueue\.topic\.replication\.factor"
    with pytest.raises(DeadLetterTopicUnusable, match=rf"could not be created .*set {key} to at most .*\(it is 3\)"):
        ensure_dead_letter_topic(Cluster.open(conf, "the test"), f"letters-{uuid.uuid4().hex[:8]}", 3)


def test_a_compacted_topic_is_refused(conf: dict[str, object], topic: Callable[..., str]) -> None:
    with pytest.raises(DeadLetterTopicUnusable, match="is compacted"):
        ensure_dead_letter_topic(Cluster.open(conf, "the test"), topic(cleanup_policy="compact"), 1)


@pytest.mark.parametrize("context", [False, True])
def test_letters_arrive_whole_and_with_context_if_asked(
    conf: dict[str, object], topic: Callable[..., str], context: bool
) -> None:
    name = topic(name="letters")
    dead_letters = DeadLetterTopic.open(conf, name, context_headers=context, connector="sink", task_index=4)
    dead_letters.send(DEAD_LETTERS)
    dead_letters.flush()
    found = consume(conf, name, len(DEAD_LETTERS))
    assert [(m.key(), m.value()) for m in found] == [
        (dead_letter.key, dead_letter.value) for dead_letter in DEAD_LETTERS
    ]
    assert found[0].timestamp() == (ck.TIMESTAMP_CREATE_TIME, 1_700_000_000_123)
    for message, dead_letter in zip(found, DEAD_LETTERS, strict=True):
        headers = message.headers() or []
        assert tuple(headers[: len(dead_letter.headers)]) == dead_letter.headers
        assert len(headers) == len(dead_letter.headers) + (10 if context else 0)
        if context:
            last = dict(headers)
            assert last["__connect.errors.topic"] == b"t"
            assert last["__connect.errors.offset"] == str(dead_letter.offset).encode()
            assert last["__connect.errors.task.id"] == b"4"


def test_many_letters_fit_where_each_of_them_does(conf: dict[str, object], topic: Callable[..., str]) -> None:
    """Also in a topic whose limit is far below the client's usual batch."""
    name = topic(name="letters", max_message_bytes="20000")
    noise = random.Random(7)
    dead_letters = DeadLetterTopic.open(conf, name, context_headers=True, connector="sink")
    dead_letters.send(
        DeadLetter("t", "T1", 0, n, None, None, noise.randbytes(900), (), None, "value_converter", "E", "x")
        for n in range(500)
    )
    dead_letters.flush()
    assert len(consume(conf, name, 500)) == 500


def test_dead_letter_refused_by_topic_is_named_with_advice(conf: dict[str, object], topic: Callable[..., str]) -> None:
    name = topic(name="letters", max_message_bytes="2000")
    dead_letters = DeadLetterTopic.open(conf, name, context_headers=False, connector="sink")
    value = random.Random(7).randbytes(5000)
    with pytest.raises(
        DeadLetterRefused, match=r"'t' partition 3 offset 11 .*MSG_SIZE_TOO_LARGE.*raise max\.message\.bytes"
    ):
        dead_letters.send([DeadLetter("t", "T1", 3, 11, None, None, value, (), None, "value_converter", "E", "x")])
        dead_letters.flush()
