"""The topic that dead letters go to, created where it is missing."""

import time
from collections.abc import Mapping
from typing import Any

import confluent_kafka as ck
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from floe.config.errors import REPLICATION
from floe.exceptions import Terminal
from floe.kafka.answers import told
from floe.kafka.cluster import Cluster
from floe.kafka.exceptions import KafkaError, KafkaUnreachable
from floe.kafka.settings import REQUEST_TIMEOUT

_MAY_PASS = {
    ck.KafkaError._TIMED_OUT,
    ck.KafkaError._TRANSPORT,
    ck.KafkaError._ALL_BROKERS_DOWN,
    ck.KafkaError._RESOLVE,
    ck.KafkaError.REQUEST_TIMED_OUT,
    ck.KafkaError.NOT_CONTROLLER,
}
_HIDDEN = {ck.KafkaError.TOPIC_AUTHORIZATION_FAILED, ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED}


class LetterTopicUnusable(KafkaError, Terminal):
    """The dead-letter topic cannot be created, or would lose letters."""


def ensure_letter_topic(conf: Mapping[str, Any], origin: str, name: str, replication: int) -> None:
    """Create the dead-letter topic if it is missing: one partition as in Kafka Connect, ``replication`` copies.

    ``conf`` holds client properties, ``origin`` says where they come from. A topic that exists stays as it is. Raises
    LetterTopicUnusable when it cannot be created or is compacted, KafkaUnreachable when no broker answers.
    """
    cluster = Cluster(conf, origin)
    admin = AdminClient(dict(conf))
    brokers = conf.get("bootstrap.servers")
    if not cluster.topics([name]):
        _create(admin, brokers, origin, name, replication)
        _await(cluster, name)
    _refuse_compacted(admin, brokers, origin, name)


def _create(admin: AdminClient, brokers: object, origin: str, name: str, replication: int) -> None:
    topic = NewTopic(name, num_partitions=1, replication_factor=replication, config={"cleanup.policy": "delete"})
    try:
        admin.create_topics([topic], request_timeout=REQUEST_TIMEOUT)[name].result(REQUEST_TIMEOUT * 2)
    except ck.KafkaException as error:
        reason: ck.KafkaError = error.args[0]
        if reason.code() == ck.KafkaError.TOPIC_ALREADY_EXISTS:
            return
        if reason.code() in _MAY_PASS:
            raise told(reason, brokers, origin) from error
        advice = "create it yourself with cleanup.policy=delete"
        if reason.code() == ck.KafkaError.INVALID_REPLICATION_FACTOR:
            advice = f"set {REPLICATION} to at most the number of brokers (it is {replication}), or {advice}"
        msg = (
            f"dead-letter topic {name!r} does not exist on {brokers} and could not be created "
            f"({reason.str()}, {reason.name()}): {advice}"
        )
        raise LetterTopicUnusable(msg) from error


def _await(cluster: Cluster, name: str) -> None:
    """Wait until the brokers know the topic's partition: a producer that asks earlier waits for much longer."""
    deadline = time.monotonic() + REQUEST_TIMEOUT
    while time.monotonic() < deadline:
        facts = cluster.topics([name]).get(name)
        if facts is not None and facts.partitions:
            return
        time.sleep(0.1)
    msg = f"dead-letter topic {name!r} was created but is not there after {REQUEST_TIMEOUT:.0f} s: run again"
    raise KafkaUnreachable(msg)


def _refuse_compacted(admin: AdminClient, brokers: object, origin: str, name: str) -> None:
    """Raise for a topic that keeps one letter per key, and refuses those without a key."""
    resource = ConfigResource(ResourceType.TOPIC, name)
    try:
        config = admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT)[resource].result(
            REQUEST_TIMEOUT * 2
        )
    except ck.KafkaException as error:
        reason: ck.KafkaError = error.args[0]
        if reason.code() in _HIDDEN:
            return  # letters are only written: who may do no more than that is not to be asked for more
        raise told(reason, brokers, origin) from error
    policy = str(config["cleanup.policy"].value)
    if "compact" in policy:
        msg = (
            f"dead-letter topic {name!r} is compacted (cleanup.policy={policy}): of several letters with one key only the "
            "last would stay. Set cleanup.policy=delete on it, or name another topic."
        )
        raise LetterTopicUnusable(msg)
