"""The dead-letter topic, created if it is missing."""

import confluent_kafka as ck

from floe.config.sections.error_policy import REPLICATION
from floe.exceptions import Terminal
from floe.kafka.admin import Cluster
from floe.kafka.exceptions import KafkaError, KafkaMisconfigured, TopicNotCreated


class DeadLetterTopicUnusable(KafkaError, Terminal):
    """The dead-letter topic cannot be created, or would lose dead letters."""

    code = "FLOE-206"


def ensure_dead_letter_topic(cluster: Cluster, name: str, replication: int) -> None:
    """Create the dead-letter topic if it is missing: one partition as in Kafka Connect, ``replication`` copies.

    An existing topic is not changed. Raises DeadLetterTopicUnusable when it cannot be created or is compacted,
    KafkaUnreachable when no broker answers.
    """
    if not cluster.topics([name]):
        _create(cluster, name, replication)
    try:
        policy = cluster.cleanup_policy(name)
    except KafkaMisconfigured:
        return  # dead letters are only written: no further permission is required
    if "compact" in policy:
        msg = (
            f"dead-letter topic {name!r} is compacted (cleanup.policy={policy}): of several dead letters with one key only "
            "the last would stay, and those without a key are refused. Set cleanup.policy=delete on it, or name another "
            "topic."
        )
        raise DeadLetterTopicUnusable(msg)


def _create(cluster: Cluster, name: str, replication: int) -> None:
    try:
        cluster.create_topic(name, replication)
    except TopicNotCreated as error:
        advice = "create it yourself with cleanup.policy=delete"
        if error.reason == ck.KafkaError.INVALID_REPLICATION_FACTOR:
            advice = f"set {REPLICATION} to at most the number of brokers (it is {replication}), or {advice}"
        msg = f"dead-letter topic {name!r} does not exist and could not be created ({error}): {advice}"
        raise DeadLetterTopicUnusable(msg) from error
