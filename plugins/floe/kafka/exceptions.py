"""Errors of talking to Kafka."""

import confluent_kafka as ck

from floe.exceptions import FloeError, Retryable, Terminal


class KafkaError(FloeError):
    """Any error of ``floe.kafka``."""


class KafkaUnreachable(KafkaError, Retryable):
    """No broker answered in time."""


class KafkaMisconfigured(KafkaError, Terminal):
    """The connection's or connector's client settings are not usable."""


class TopicMissing(KafkaError, Terminal):
    """A topic does not exist."""


class TopicNotCreated(KafkaError, Terminal):
    """The brokers do not create a topic; ``code`` is theirs."""

    def __init__(self, reason: ck.KafkaError) -> None:
        super().__init__(f"{reason.str()}, {reason.name()}")
        self.code = reason.code()


class ControlTopicUnusable(KafkaError, Terminal):
    """The control topic cannot hold announcements safely."""


class GroupInUse(KafkaError, Retryable):
    """The connector's group has members: somebody else consumes with it."""


class PositionsUnstable(KafkaError, Retryable):
    """A transaction holds the group's positions and does not end."""


class Fenced(KafkaError, Retryable):
    """Another run of the same connector took over the transactional id."""


class TransactionFailed(KafkaError, Retryable):
    """A transaction did not commit; nothing of it will be seen."""
