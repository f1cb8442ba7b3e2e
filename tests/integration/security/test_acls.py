"""The fewest ACLs: a connector runs with them, and each one less is named. One topic's is revoked: the others go on."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from floe.exceptions import FloeError
from floe.kafka.access import TopicsLeftOut
from floe.kafka.settings import KafkaSettings
from floe.tables.exceptions import SliceNotWritten
from tests.support.kafka.secured import USER, Acl, SecuredBroker, least_acls
from tests.support.runs.pipeline import Pipeline

pytestmark = pytest.mark.usefixtures("short_waits")


def acls_of(pizzas: Pipeline) -> list[Acl]:
    dead = pizzas.connector.properties.get("errors.deadletterqueue.topic.name")
    return least_acls(pizzas.connector.name, pizzas.connector.topics, dead)


def test_connector_runs_with_the_fewest_acls_and_not_with_less(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline]
) -> None:
    pizzas = secured_pipeline(dead_letters=True)
    pizzas.produce([b"no json"])
    pizzas.settings = KafkaSettings.of(pizzas.connector, secured.login())
    granted = acls_of(pizzas)
    for acl in granted:
        secured.revoke(acl)
        with pytest.raises(FloeError) as found:
            pizzas.run()
        message = str(found.value)
        assert acl.name.removesuffix("*") in message, (acl, message)
        assert f"user '{USER}'" in message and "rant" in message, (acl, message)
        assert "sasl.mechanism PLAIN" in message and "br0ker" not in message
        secured.grant([acl])
    pizzas.run()
    assert pizzas.column("id") == list(range(10))


def test_topic_that_may_not_be_read_is_left_out_by_the_plan(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline]
) -> None:
    pizzas = secured_pipeline(topics=2)
    kept, lost = pizzas.connector.topics
    pizzas.settings = KafkaSettings.of(pizzas.connector, secured.login())
    acl = Acl(ResourceType.TOPIC, lost, AclOperation.READ)
    secured.revoke(acl)
    with pytest.raises(
        TopicsLeftOut, match=rf"user '{USER}' .* may not read topic '{lost}'.*Grant Read on topic '{lost}'"
    ):
        pizzas.run()
    assert set(pizzas.column("topic")) == {kept} and len(pizzas.column("id")) == 10
    secured.grant([acl])
    pizzas.run()
    assert len(pizzas.column("id")) == 20


def positions(secured: SecuredBroker, pizzas: Pipeline) -> list[int]:
    """Return the position of each topic, as a client sees it that may see all."""
    conf = {"bootstrap.servers": secured.broker.bootstrap, "group.id": pizzas.connector.group_id}
    consumer = ck.Consumer(conf)
    found = consumer.committed([ck.TopicPartition(topic, 0) for topic in pizzas.connector.topics], timeout=10)
    consumer.close()
    return [one.offset for one in found]


@pytest.mark.parametrize(
    "left",
    [
        pytest.param((), marks=pytest.mark.full),  # the client says nothing of it: a minute of silence
        (AclOperation.DESCRIBE,),
    ],
)
def test_acl_revoked_in_mid_run_stops_its_topic_alone(
    secured: SecuredBroker, secured_pipeline: Callable[..., Pipeline], left: tuple[AclOperation, ...]
) -> None:
    """Row 41 of the fault matrix: the slice fails with nothing announced, and the next run leaves the topic out."""
    pizzas = secured_pipeline(topics=2)
    kept, lost = pizzas.connector.topics
    pizzas.settings = KafkaSettings.of(pizzas.connector, secured.login())
    plan = pizzas.plan()
    acl = Acl(ResourceType.TOPIC, lost, AclOperation.READ)
    for operation in left:
        secured.grant([Acl(ResourceType.TOPIC, lost, operation)])
    secured.revoke(acl)
    (error,) = pizzas.try_write(plan)
    message = str(error)
    assert lost in message
    assert not left or (f"user '{USER}'" in message and "grant it Read" in message)
    with pytest.raises(SliceNotWritten, match=rf"user '{USER}' .* may not read topic '{lost}'.*Grant it Read"):
        pizzas.committer(plan).commit([], message)
    assert positions(secured, pizzas) == [0, 0]
    with pytest.raises(TopicsLeftOut, match=lost):
        pizzas.run()
    assert positions(secured, pizzas) == [10, 0]
    assert set(pizzas.column("topic")) == {kept} and len(pizzas.column("id")) == 10
    secured.grant([acl])
    pizzas.run()
    assert len(pizzas.column("id")) == 20
