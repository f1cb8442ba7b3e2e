"""Topics, the group, the control topic and transactions: what is missing, not allowed, or loses records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from floe.config import ConfigError
from floe.doctor import topics
from floe.doctor.brokers import find_clocks
from floe.doctor.topics import (
    find_control_topic,
    find_dead_letter_topic,
    find_group,
    find_reading,
    find_topics,
    find_transactions,
)
from floe.kafka.access import NotPermitted
from floe.kafka.exceptions import GroupInUse, KafkaMisconfigured, KafkaUnreachable
from floe.model.offsets import TopicPartition
from floe.model.positions import Position
from tests.support.kafka.doctor_case import CONTROL, KEPT, TOPIC, FakeCluster, case_of, found, levels


def test_topic_has_its_partitions_and_retention() -> None:
    (one,) = found(find_topics, case_of())
    assert one.text == f"topic '{TOPIC}' has 2 partitions; it keeps records for 168 h"


def test_missing_topic_is_a_problem_with_its_brokers() -> None:
    (one,) = found(find_topics, case_of(FakeCluster(existing={})))
    assert one.is_problem and one.text == f"topic '{TOPIC}' does not exist on b:9092"


@pytest.mark.parametrize(
    ("configuration", "level", "text"),
    [
        (KEPT | {"retention.ms": "600000"}, "warning", "for 0.167 h"),
        (KEPT | {"retention.ms": "-1", "retention.bytes": "1000"}, "ok", "for ever, and at most 1,000 bytes"),
        (KEPT | {"cleanup.policy": "compact"}, "ok", "it is compacted"),
        (KEPT | {"retention.ms": "odd"}, "ok", "for ever"),
        (KafkaMisconfigured("may not"), "ok", "not known without DescribeConfigs"),
    ],
)
def test_retention_that_is_short_is_warned_of(configuration: Any, level: str, text: str) -> None:
    (one,) = found(find_topics, case_of(FakeCluster(configurations={TOPIC: configuration})))
    assert one.level.value == level and text in one.text


def test_expression_that_matches_nothing_raises_its_error() -> None:
    case = case_of(topics="", **{"topics.regex": "orders-.*"})
    with pytest.raises(ConfigError, match="matches no topic"):
        found(find_topics, case)


def test_many_topics_are_not_all_looked_at() -> None:
    names = [f"t{number}" for number in range(25)]
    case = case_of(FakeCluster(existing=dict.fromkeys(names, 1)), topics=",".join(names))
    findings = found(find_topics, case)
    assert len(findings) == topics.MAX_TOPICS + 1 and findings[-1].text == "5 more topics"


def test_topic_that_may_not_be_read_is_a_problem() -> None:
    (one,) = found(find_reading, case_of(FakeCluster(denied={TOPIC: "READ"})))
    assert one.is_problem and f"grant Read on topic '{TOPIC}'" in one.remedy
    (fine,) = found(find_reading, case_of())
    assert fine.text == "records of 0 topics can be fetched, 1 have none"


def test_fetch_that_fails_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    monkeypatch.setattr(cluster, "stable_ends", lambda tps: dict.fromkeys(tps, 5))
    monkeypatch.setattr(topics, "_fetch", lambda _, starts: dict.fromkeys(starts, "no answer"))
    (one,) = found(find_reading, case_of(cluster))
    assert one.is_problem and "can be fetched: no answer" in one.text


def test_group_that_may_not_commit_is_a_problem() -> None:
    one, _ = found(find_group, case_of(FakeCluster(is_allowed=False)))
    assert one.is_problem and one.remedy.startswith("grant Read on group 'connect-pizzas'")


def test_group_says_what_it_has_committed() -> None:
    tp = TopicPartition(TOPIC, 0)
    (one,) = found(find_group, case_of(FakeCluster(committed={tp: Position(tp, 5, "")})))
    assert one.text.endswith("committed offsets of 1 partition")
    (new,) = found(find_group, case_of())
    assert "has not run yet" in new.text
    with pytest.raises(GroupInUse):
        found(find_group, case_of(FakeCluster(error=GroupInUse("2 members"))))


@pytest.mark.parametrize(
    ("cluster", "level", "text"),
    [
        (FakeCluster(), "ok", "keeps events for 168 h"),
        (FakeCluster(existing={}), "warning", "does not exist yet"),
        (FakeCluster(configurations={CONTROL: KEPT | {"cleanup.policy": "compact"}}), "problem", "is compacted"),
        (FakeCluster(configurations={CONTROL: KEPT | {"retention.ms": "3600000"}}), "warning", "for 1 h"),
        (FakeCluster(configurations={CONTROL: KEPT | {"retention.ms": "-1"}}), "ok", "for ever"),
        (FakeCluster(configurations={CONTROL: KafkaMisconfigured("may not see")}), "problem", "may not see"),
    ],
)
def test_control_topic_that_loses_events_is_found(cluster: FakeCluster, level: str, text: str) -> None:
    (one,) = found(find_control_topic, case_of(cluster))
    assert one.level.value == level and text in one.text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"max.message.bytes": "1000"}, "records of at most 1,000 bytes"),
        ({"retention.bytes": "5000"}, "keeps at most 5,000 bytes of each partition"),
        ({"max.message.bytes": "1048588", "retention.bytes": "1000000000"}, None),
    ],
)
def test_limits_of_the_control_topic_are_warned_of(more: dict[str, str], text: str | None) -> None:
    findings = found(find_control_topic, case_of(FakeCluster(configurations={CONTROL: KEPT | more})))
    assert levels(findings) == (["ok", "warning"] if text else ["ok"])
    assert text is None or text in findings[1].text


def test_control_topic_that_may_not_be_written_is_a_problem() -> None:
    findings = found(find_control_topic, case_of(FakeCluster(denied={CONTROL: "READ WRITE"})))
    assert levels(findings) == ["problem", "problem"]
    assert [one.remedy for one in findings] == [f"grant {word} on topic '{CONTROL}'" for word in ("Read", "Write")]
    assert levels(found(find_control_topic, case_of(FakeCluster(denied={CONTROL: "WRITE"})))) == ["problem", "ok"]


@pytest.mark.parametrize(
    ("cluster", "level", "text"),
    [
        (FakeCluster(existing={"dead": 1}), "ok", "may be written"),
        (FakeCluster(existing={}), "warning", "does not exist yet"),
        (FakeCluster(existing={"dead": 1}, denied={"dead": "WRITE"}), "problem", "may not be written"),
        (FakeCluster({"dead": 1}, {"dead": {"cleanup.policy": "compact"}}), "problem", "is compacted"),
        (FakeCluster({"dead": 1}, {"dead": KafkaMisconfigured("may not see")}), "ok", "may be written"),
    ],
)
def test_dead_letter_topic_that_takes_nothing_is_found(cluster: FakeCluster, level: str, text: str) -> None:
    keys = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "dead"}
    (one,) = found(find_dead_letter_topic, case_of(cluster, **keys))
    assert one.level.value == level and text in one.text
    assert levels(found(find_dead_letter_topic, case_of(cluster))) == ["ok"]


class Producer:
    """A producer that notes what it is asked for, and may be refused."""

    asked: list[str]
    error: Exception | None

    @classmethod
    def open(cls, _: object, transactional_id: str) -> Producer:
        cls.asked.append(transactional_id)
        if cls.error is not None:
            raise cls.error
        return cls()

    def rehearse(self, topic: str, *_: object) -> None:
        self.asked.append(topic)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the producer was asked for."""
    Producer.asked, Producer.error = [], None
    monkeypatch.setattr(topics, "TransactionalProducer", Producer)
    return Producer.asked


def test_transactional_id_that_is_not_allowed_names_its_prefix(opened: list[str]) -> None:
    Producer.error = NotPermitted("may not fence")
    (one,) = found(find_transactions, case_of())
    assert one.is_problem and one.text == "may not fence. See FLOE-450."
    assert one.remedy == "grant Write on the TransactionalIds that begin with 'floe-pizzas-'"


@pytest.mark.parametrize(
    ("seconds", "expected"), [(0, "ok"), (-120, "warning"), (120, "warning"), (None, "not checked")]
)
def test_clock_of_brokers_is_that_of_the_marker(opened: list[str], seconds: int | None, expected: str) -> None:
    newest = -1 if seconds is None else int((datetime.now(UTC).timestamp() + seconds) * 1000)
    case = case_of(FakeCluster(newest=newest))
    assert levels(found(find_transactions, case)) == ["ok"]
    assert levels(found(find_clocks, case)) == [expected]


def test_newer_record_of_another_writer_is_no_clock_ahead(opened: list[str]) -> None:
    case = case_of(FakeCluster(newest=int(datetime.now(UTC).timestamp() * 1000)))
    case.marked = datetime.now(UTC) - timedelta(seconds=100)  # the checks since then took long
    assert levels(found(find_clocks, case)) == ["ok"]
    case.source.error = case.control.error = KafkaUnreachable("away")  # type: ignore[attr-defined]
    assert levels(found(find_clocks, case)) == ["not checked"]


def test_clock_is_not_that_of_a_former_transaction(opened: list[str]) -> None:
    Producer.error = NotPermitted("may not fence")
    case = case_of(FakeCluster(newest=1_700_000_000_000))
    assert levels(found(find_transactions, case)) == ["problem"]
    assert levels(found(find_clocks, case)) == ["not checked"]


def test_transactions_are_tried_by_an_id_of_the_connectors(opened: list[str]) -> None:
    assert levels(found(find_transactions, case_of(write=False))) == ["not checked"]
    assert levels(found(find_transactions, case_of(FakeCluster(existing={})))) == ["not checked"]
    assert opened == []
    assert levels(found(find_transactions, case_of())) == ["ok"]
    assert opened == ["floe-pizzas-doctor", CONTROL]
