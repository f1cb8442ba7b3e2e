"""Admin calls about topics: which exist, their cleanup policies; and how admin requests are sent."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import confluent_kafka as ck
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AdminClient,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from floe.kafka.access import Action, Client, NotPermitted
from floe.kafka.admin_clients import open_client
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import (
    MAY_PASS,
    NOT_READY,
    KafkaError,
    KafkaUnreachable,
    TopicMissing,
    TopicNotCreated,
)
from floe.kafka.settings import REQUEST_TIMEOUT

T = TypeVar("T")


class TopicDescription(NamedTuple):
    """A topic as the brokers describe it."""

    topic_id: str
    partitions: tuple[int, ...]


class Readable(NamedTuple):
    """Topics that exist, by name, and the names of those that a client may not read; some are in both."""

    topics: Mapping[str, TopicDescription]
    denied: set[str]


class Topics:
    """Admin calls about topics, on one set of client settings."""

    def __init__(self, admin: AdminClient, client_log: ClientLog, client: Client) -> None:
        """Use a client; :meth:`open` makes one."""
        self._admin = admin
        self._log = client_log
        self._client = client
        self._brokers = client.brokers

    @classmethod
    def open(cls, conf: Mapping[str, Any], origin: str) -> Self:
        """Open a client, or share one within a task; it connects when it is first asked. Raises KafkaMisconfigured."""
        return cls(*open_client(conf, origin), Client.of(conf, origin))

    def topics(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        """Describe topics by one request; those that do not exist are left out. Raises KafkaUnreachable, NotPermitted."""
        found = {}
        for name, ask in self._describe(names).items():
            try:
                found[name] = _described(ask())
            except TopicMissing:
                continue
        return found

    def readable(self, names: Iterable[str]) -> Readable:
        """Describe topics by one request, and say which of them this client may not read: the brokers know it.

        Brokers that do not say it are believed to allow it: reading then fails if they do not. Raises KafkaUnreachable.
        """
        found, denied = {}, set()
        for name, ask in self._describe(names, rights=True).items():
            try:
                description = ask()
            except TopicMissing:
                continue
            except NotPermitted:
                denied.add(name)
                continue
            found[name] = _described(description)
            if not _has_right(description, AclOperation.READ):
                denied.add(name)
        return Readable(found, denied)

    def without_right(self, names: Iterable[str], operation: AclOperation) -> set[str]:
        """Return the topics that this client may not do something with; of brokers that do not say it, none."""
        found: set[str] = set()
        for name, ask in self._describe(names, rights=True).items():
            try:
                found |= set() if _has_right(ask(), operation) else {name}
            except TopicMissing:
                continue
            except NotPermitted:
                found.add(name)
        return found

    def topic_names(self) -> list[str]:
        """List all topics that this client may see. Raises KafkaUnreachable."""
        try:
            return sorted(self._admin.list_topics(timeout=REQUEST_TIMEOUT).topics)
        except ck.KafkaException as error:
            raise self._error_of(error.args[0], Action("list topics", "Describe on its topics")) from error

    def _describe(self, names: Iterable[str], *, rights: bool = False) -> dict[str, Callable[[], Any]]:
        """Ask for all topics at once; return what waits for the answer of each. A topic that is not ready is asked again."""
        asked = {"request_timeout": REQUEST_TIMEOUT, "include_authorized_operations": rights}
        wanted = list(dict.fromkeys(names))
        # a copy: the client answers by its own
        sent = dict(self._admin.describe_topics(ck.TopicCollection(wanted), **asked)) if wanted else {}

        def request(name: str) -> "Future[Any]":
            first = sent.pop(name, None)
            return first or self._admin.describe_topics(ck.TopicCollection([name]), **asked)[name]

        return {name: partial(self._ask, partial(request, name), _describing(name)) for name in wanted}

    def create_topic(self, name: str, replication: int = -1) -> TopicDescription:
        """Create a topic of one partition that keeps all records, with ``replication`` copies (-1: the broker's default).

        Waits until the brokers know the partition: a producer that requests it earlier waits much longer. A topic that
        another process created first is used unchanged. Raises TopicNotCreated, KafkaUnreachable.
        """
        topic = NewTopic(name, num_partitions=1, replication_factor=replication, config={"cleanup.policy": "delete"})
        try:
            self._admin.create_topics([topic], request_timeout=REQUEST_TIMEOUT)[name].result(REQUEST_TIMEOUT * 2)
        except ck.KafkaException as error:
            reason: ck.KafkaError = error.args[0]
            if reason.code() in MAY_PASS:
                raise self._error_of(reason, Action(f"create topic {name!r}", f"Create on topic {name!r}")) from error
            if reason.code() != ck.KafkaError.TOPIC_ALREADY_EXISTS:
                raise TopicNotCreated(reason) from error
        deadline = time.monotonic() + REQUEST_TIMEOUT
        while time.monotonic() < deadline:
            description = self.topics([name]).get(name)
            if description is not None and description.partitions:
                return description
            time.sleep(0.1)
        msg = f"topic {name!r} was created but is not there after {REQUEST_TIMEOUT:.0f} s: run again"
        raise KafkaUnreachable(msg)

    def cleanup_policy(self, name: str) -> str:
        """Return a topic's ``cleanup.policy``. Raises KafkaMisconfigured if this client may not see it."""
        return self.configuration(name)["cleanup.policy"]

    def retention_ms(self, name: str) -> int | None:
        """Return for how many ms a topic keeps a record at least; None for ever. Raises as :meth:`cleanup_policy`."""
        configuration = self.configuration(name)
        kept = int(configuration["retention.ms"])
        return kept if kept >= 0 and "delete" in configuration["cleanup.policy"] else None

    def configuration(self, name: str) -> dict[str, str]:
        """Return a topic's configuration, defaults too. Raises KafkaMisconfigured if this client may not see it."""
        resource = ConfigResource(ResourceType.TOPIC, name)
        action = Action(f"see the configuration of topic {name!r}", f"DescribeConfigs on topic {name!r}")
        config: Mapping[str, Any] = self._ask(
            lambda: self._admin.describe_configs([resource], request_timeout=REQUEST_TIMEOUT)[resource], action
        )
        return {key: str(entry.value) for key, entry in config.items()}

    def _error_of(self, reason: ck.KafkaError, action: Action) -> KafkaError:
        return self._client.error(reason, action, self._log.drained(self._admin))

    def _ask(self, request: Callable[[], "Future[T]"], action: Action) -> T:
        """Send a request, repeat it while the cluster is starting, and return the answer or raise floe's error."""
        deadline = time.monotonic() + REQUEST_TIMEOUT
        while True:
            try:
                return request().result(REQUEST_TIMEOUT * 2)
            except TimeoutError as error:  # the client has no token, so it sends nothing
                raise self._error_of(ck.KafkaError(ck.KafkaError._TIMED_OUT), action) from error
            except ck.KafkaException as error:
                reason: ck.KafkaError = error.args[0]
                if reason.code() not in NOT_READY or time.monotonic() > deadline:
                    raise self._error_of(reason, action) from error
            time.sleep(0.1)


def _described(description: Any) -> TopicDescription:
    return TopicDescription(str(description.topic_id), tuple(sorted(p.id for p in description.partitions)))


def _has_right(description: Any, operation: AclOperation) -> bool:
    allowed = description.authorized_operations
    return not allowed or operation in allowed


def _describing(name: str) -> Action:
    return Action(f"describe topic {name!r}", f"Describe and Read on topic {name!r}")
