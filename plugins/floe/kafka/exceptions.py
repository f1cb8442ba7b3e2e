"""Errors of talking to Kafka."""

import confluent_kafka as ck

from floe.exceptions import FloeError, Retryable, Terminal


class KafkaError(FloeError):
    """Any error of ``floe.kafka``."""


class KafkaUnreachable(KafkaError, Retryable):
    """No broker answered in time."""

    code = "FLOE-201"


class KafkaMisconfigured(KafkaError, Terminal):
    """The connection's or connector's client settings are not usable."""

    code = "FLOE-202"


class TopicMissing(KafkaError, Terminal):
    """A topic does not exist."""

    code = "FLOE-203"


class TopicNotCreated(KafkaError, Terminal):
    """The brokers did not create a topic; ``reason`` is their answer."""

    code = "FLOE-204"

    def __init__(self, reason: ck.KafkaError) -> None:
        super().__init__(f"{reason.str()}, {reason.name()}")
        self.reason = reason.code()


class ControlTopicUnusable(KafkaError, Terminal):
    """The control topic cannot keep announcements safely."""

    code = "FLOE-205"


class GroupInUse(KafkaError, Retryable):
    """The connector's group has members: another process consumes with it."""

    code = "FLOE-208"


class PositionsUnstable(KafkaError, Retryable):
    """An open transaction contains the group's positions and does not end."""

    code = "FLOE-209"


class Fenced(KafkaError, Retryable):
    """Another run of the same connector took over the transactional id."""

    code = "FLOE-210"


class TransactionFailed(KafkaError, Retryable):
    """A transaction did not commit; none of it will be visible."""

    code = "FLOE-211"


class PositionFull(KafkaError, Terminal):
    """The backlogs of a partition do not fit into its position."""

    code = "FLOE-212"


NOT_READY = {
    ck.KafkaError.NOT_COORDINATOR,
    ck.KafkaError.COORDINATOR_NOT_AVAILABLE,
    ck.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    ck.KafkaError.LEADER_NOT_AVAILABLE,
    ck.KafkaError.NOT_LEADER_FOR_PARTITION,
    ck.KafkaError.UNKNOWN_LEADER_EPOCH,
    ck.KafkaError.FENCED_LEADER_EPOCH,
    ck.KafkaError._UNKNOWN_PARTITION,
}
"""Answers of a cluster that is starting, or of a partition that was just created."""

MAY_PASS = {
    ck.KafkaError._TIMED_OUT,
    ck.KafkaError._TRANSPORT,
    ck.KafkaError._ALL_BROKERS_DOWN,
    ck.KafkaError._RESOLVE,
    ck.KafkaError.REQUEST_TIMED_OUT,
    ck.KafkaError.NOT_CONTROLLER,
}
"""Answers to a change that may pass at another attempt; all others are a refusal."""

UNREACHABLE = {
    ck.KafkaError._TIMED_OUT,
    ck.KafkaError._TRANSPORT,
    ck.KafkaError._ALL_BROKERS_DOWN,
    ck.KafkaError._RESOLVE,
    ck.KafkaError.REQUEST_TIMED_OUT,
}
"""Answers of a client that has no connection: its log contains the reason."""

NO_EPOCHS = "No epoch found"
"""librdkafka's words where the broker keeps no epochs of a log."""

NOT_ALLOWED = {
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED,
    ck.KafkaError.GROUP_AUTHORIZATION_FAILED,
    ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    ck.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""Answers to a client that an ACL does not allow what it wants."""
