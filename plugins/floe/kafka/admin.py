"""The brokers' state: topics, log starts, last stable offsets, groups. Admin calls only, no records are consumed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple, Self, TypeVar

import confluent_kafka as ck
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AdminClient,
    ConfigResource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from floe.config.sections.error_policy import REPLICATION
from floe.exceptions import Terminal
from floe.kafka.access import Action, Client, NotPermitted
from floe.kafka.admin_clients import open_client
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import (
    MAY_PASS,
    NOT_ALLOWED,
    NOT_READY,
    ControlTopicUnusable,
    GroupInUse,
    KafkaError,
    KafkaMisconfigured,
    KafkaUnreachable,
    PositionsUnstable,
    TopicMissing,
    TopicNotCreated,
)
from floe.kafka.settings import REQUEST_TIMEOUT, TRANSACTION_TIMEOUT, TRANSACTIONS, KafkaSettings
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import Position

# Admin calls about topics: which exist, their cleanup policies; and how admin requests are sent.


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

        def request(name: str) -> Future[Any]:
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

    def _ask(self, request: Callable[[], Future[T]], action: Action) -> T:
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


ANNOUNCED_WITHIN = 10.0
"""Seconds in which the first broker has to say which others there are, its login included."""


JUST_NOW = 0.2
"""Seconds for which the coordinator of a group counts as available."""


class Announced(NamedTuple):
    """A cluster by its own words. ``brokers``: host and port, for clients of the listener that was asked, by broker's id."""

    cluster_id: str
    brokers: Mapping[int, tuple[str, int]]


class Cluster(Topics):
    """Admin calls on one set of client settings: logs, the control topic, groups and their positions."""

    def __init__(self, admin: AdminClient, client_log: ClientLog, client: Client) -> None:
        super().__init__(admin, client_log, client)
        self._answered: dict[str, float] = {}
        """When the coordinator of a group answered last, by the group."""

    @classmethod
    def of_source(cls, settings: KafkaSettings) -> Cluster:
        """Open the cluster whose topics are read."""
        return cls.open(settings.source, settings.origin)

    @classmethod
    def of_control(cls, settings: KafkaSettings) -> Cluster:
        """Open the cluster that contains the control topic and the group's positions."""
        return cls.open(settings.control, settings.origin)

    def cluster_id(self) -> str:
        """Return the cluster's id, as reported by the brokers."""
        description = self._ask(
            lambda: self._admin.describe_cluster(request_timeout=REQUEST_TIMEOUT),
            Action("describe the cluster", "Describe on the cluster"),
        )
        return str(description.cluster_id)

    def announced(self) -> Announced:
        """Return the cluster's id and the addresses that its brokers announce, as the first one of them says.

        None of those addresses is connected to. Raises at once for a login that is refused.
        """
        action, deadline = Action("list the brokers", "Describe on a topic"), time.monotonic() + ANNOUNCED_WITHIN
        while True:
            try:
                # of all topics the answer may be large; brokers answer for one that this client may not see, too
                found = self._admin.list_topics(TRANSACTIONS, timeout=ANNOUNCED_WITHIN / 2)
                brokers = {one.id: (str(one.host), one.port) for one in found.brokers.values()}
                return Announced(str(found.cluster_id), brokers)
            except ck.KafkaException as error:
                made = self._error_of(error.args[0], action)
                if not isinstance(made, KafkaUnreachable) or time.monotonic() > deadline:
                    raise made from error
            time.sleep(0.2)

    def logs(
        self, names: Sequence[str], described: Mapping[str, TopicDescription] | None = None
    ) -> tuple[PartitionLog, ...]:
        """Return log start and last stable offset of every partition of the topics, sorted by topic and partition.

        ``described``: the topics that exist, if that is known; there may be more. Raises TopicMissing, naming the topics
        that do not exist.
        """
        known = self.topics(names) if described is None else described
        topics = {name: known[name] for name in names if name in known}
        missing = sorted(set(names) - set(topics))
        if missing:
            msg = (
                f"topic {missing[0]!r} does not exist on {self._brokers}"
                + (f" (also missing: {missing[1:]})" if missing[1:] else "")
                + ". Nothing was read. Create it, or correct `topics` in the connector"
            )
            raise TopicMissing(msg)
        tps = [TopicPartition(name, p) for name in sorted(topics) for p in topics[name].partitions]
        first = self._listing(tps, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        last = self._listing(tps, OffsetSpec.latest())  # type: ignore[no-untyped-call]
        starts, ends = first(), last()
        # asked at once, a log that was written and emptied in between seems to end before it begins
        return tuple(
            PartitionLog(tp, topics[tp.topic].topic_id, start, max(start, ends[tp].offset), ends[tp].leader_epoch)
            for tp in tps
            for start in [starts[tp].offset]
        )

    def log_starts(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the first offset that each partition still has."""
        return self._offsets(tps, OffsetSpec.earliest())  # type: ignore[no-untyped-call]

    def stable_ends(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the last stable offset of each partition: below it every transaction has ended."""
        return self._offsets(tps, OffsetSpec.latest())  # type: ignore[no-untyped-call]

    def offsets_at(self, tps: Iterable[TopicPartition], moment: int) -> dict[TopicPartition, int | None]:
        """Return the first offset of each partition whose timestamp is at or after ``moment``, in epoch ms, not negative.

        None if the log has none below its last stable offset. Timestamps may be in any order: the offsets of two moments
        always delimit one range, and adjacent windows leave no gap.
        """
        found = self._offsets(tps, OffsetSpec.for_timestamp(moment))
        return {tp: offset if offset >= 0 else None for tp, offset in found.items()}

    def log_ends(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the log end offset of each partition, after open transactions: how far other consumers may have read."""
        return self._offsets(tps, OffsetSpec.latest(), ck.IsolationLevel.READ_UNCOMMITTED)  # type: ignore[no-untyped-call]

    def newest_timestamps(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the newest timestamp of each partition in epoch ms, those of markers of transactions too; -1 without one.

        Brokers give a marker the time of their own clock.
        """
        spec = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
        found = self._listed(tps, spec, ck.IsolationLevel.READ_UNCOMMITTED)
        return {tp: int(one.timestamp) for tp, one in found.items()}

    def _offsets(
        self,
        tps: Iterable[TopicPartition],
        spec: Any,
        isolation: ck.IsolationLevel = ck.IsolationLevel.READ_COMMITTED,
    ) -> dict[TopicPartition, int]:
        return {tp: int(one.offset) for tp, one in self._listed(tps, spec, isolation).items()}

    def _listed(
        self,
        tps: Iterable[TopicPartition],
        spec: Any,
        isolation: ck.IsolationLevel = ck.IsolationLevel.READ_COMMITTED,
    ) -> dict[TopicPartition, Any]:
        """Return the broker's answer about each partition: offset, timestamp, leader epoch."""
        return self._listing(tps, spec, isolation)()

    def _listing(
        self,
        tps: Iterable[TopicPartition],
        spec: Any,
        isolation: ck.IsolationLevel = ck.IsolationLevel.READ_COMMITTED,
    ) -> Callable[[], dict[TopicPartition, Any]]:
        """Ask about each partition; return what waits for the answer."""
        asked = {ck.TopicPartition(tp.topic, tp.partition): spec for tp in tps}
        if not asked:
            return dict

        def send() -> Mapping[ck.TopicPartition, Future[Any]]:
            return self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=REQUEST_TIMEOUT)

        sent = [send()]

        def request() -> Future[dict[TopicPartition, Any]]:
            answers = sent.pop() if sent else send()
            return _gathered({TopicPartition(t.topic, t.partition): future for t, future in answers.items()})

        names = ", ".join(repr(name) for name in sorted({tp.topic for tp in asked})[:20])
        action = Action(f"list the offsets of topic {names}", f"Describe and Read on topic {names}")
        return partial(self._ask, request, action)

    def ensure_control_topic(self, name: str) -> TopicDescription:
        """Return the control topic, created with the broker's defaults if it is missing and may be created.

        Raises ControlTopicUnusable when it cannot be created or is compacted.
        """
        try:
            topics = self.topics([name]).get(name) or self.create_topic(name)
        except TopicNotCreated as error:
            msg = (
                f"control topic {name!r} does not exist on {self._brokers} and could not be created ({error}): create it "
                "with cleanup.policy=delete"
            )
            raise ControlTopicUnusable(msg) from error
        policy = self.cleanup_policy(name)
        if "compact" in policy:
            msg = (
                f"control topic {name!r} is compacted (cleanup.policy={policy}): announcements share a key and would "
                "be lost. Set cleanup.policy=delete on it."
            )
            raise ControlTopicUnusable(msg)
        return topics

    def check_no_members(self, group_id: str) -> None:
        """Raise GroupInUse when the group has members: a transactional commit of positions would not detect them."""
        group = self._group(group_id)
        if group.members:
            who = ", ".join(sorted({f"{m.client_id}@{m.host}" for m in group.members})[:3])
            msg = (
                f"group {group_id!r} has {len(group.members)} member(s) ({who}): a Kafka Connect sink of the same name or "
                "another consumer is running. Stop it, then run again; only one program may commit offsets of a group."
            )
            raise GroupInUse(msg)

    def may_commit(self, group_id: str) -> bool:
        """Whether this client may commit offsets of the group; brokers that do not say it are believed to allow it."""
        allowed = self._group(group_id, rights=True).authorized_operations
        return not allowed or AclOperation.READ in allowed

    def _group(self, group_id: str, *, rights: bool = False) -> Any:
        """Describe a group, as soon as its coordinator answers."""
        asked = {"request_timeout": REQUEST_TIMEOUT, "include_authorized_operations": rights}
        described = self._ask(
            lambda: self._admin.describe_consumer_groups([group_id], **asked)[group_id],
            _reading_group(group_id),
        )
        self._answered[group_id] = time.monotonic()
        return described

    def _wait_for_coordinator(self, group_id: str) -> None:
        """Describe the group, which waits until its coordinator is available, unless that has just answered.

        An admin client of librdkafka 2.16 fails with a segmentation fault when a coordinator that is loading or has moved
        answers a request for positions (its issue 5040).
        """
        if time.monotonic() - self._answered.get(group_id, -math.inf) > JUST_NOW:
            self._group(group_id)

    def positions(self, group_id: str, tps: Sequence[TopicPartition] | None = None) -> dict[TopicPartition, Position]:
        """Return the group's stable positions: of the partitions given, or of all it has.

        Waits for open transactions of the group, at most their time-out; then raises PositionsUnstable. The listing
        of all does not contain a partition whose *first* position is still in a transaction: pass the known partitions.
        """
        wanted = None if tps is None else [ck.TopicPartition(tp.topic, tp.partition) for tp in tps]
        self._wait_for_coordinator(group_id)
        deadline = time.monotonic() + TRANSACTION_TIMEOUT + REQUEST_TIMEOUT
        while True:
            found = self._ask(lambda: self._list_positions(group_id, wanted), _reading_group(group_id)).topic_partitions
            unstable = [t for t in found if t.error is not None]
            for one in unstable:
                if one.error.code() in NOT_ALLOWED:
                    action = Action(
                        f"read the position of topic {one.topic!r} in group {group_id!r}",
                        f"Read on topic {one.topic!r}",
                    )
                    raise self._error_of(one.error, action)
            if not unstable:
                return {
                    tp: Position(tp, t.offset, t.metadata or "")
                    for t in found
                    if t.offset >= 0
                    for tp in [TopicPartition(t.topic, t.partition)]
                }
            if time.monotonic() > deadline:
                msg = (
                    f"the position of {unstable[0].topic}-{unstable[0].partition} in group {group_id!r} is held by an "
                    f"open transaction ({unstable[0].error.name()}): wait for its time-out, then run again"
                )
                raise PositionsUnstable(msg)
            time.sleep(0.02)

    def _list_positions(self, group_id: str, wanted: list[ck.TopicPartition] | None) -> Future[Any]:
        request = ck.ConsumerGroupTopicPartitions(group_id, wanted)
        return self._admin.list_consumer_group_offsets([request], require_stable=True, request_timeout=REQUEST_TIMEOUT)[
            group_id
        ]

    def delete_group(self, group_id: str) -> None:
        """Delete a group with all its positions; a missing group is not an error.

        Raises GroupInUse when it has members now, KafkaMisconfigured when deleting is not allowed.
        """
        deletion = self._admin.delete_consumer_groups([group_id], request_timeout=REQUEST_TIMEOUT)[group_id]
        try:
            deletion.result(REQUEST_TIMEOUT * 2)
        except ck.KafkaException as error:
            reason: ck.KafkaError = error.args[0]
            if reason.code() == ck.KafkaError.NON_EMPTY_GROUP:
                msg = f"group {group_id!r} has members again: stop the sink that uses it, then run again"
                raise GroupInUse(msg) from error
            if reason.code() not in (ck.KafkaError.GROUP_ID_NOT_FOUND, ck.KafkaError.INVALID_GROUP_ID):
                action = Action(f"delete group {group_id!r}", f"Delete on group {group_id!r}")
                raise self._error_of(reason, action) from error


def _reading_group(group_id: str) -> Action:
    return Action(f"read the positions of group {group_id!r}", f"Describe and Read on group {group_id!r}")


def _gathered(futures: Mapping[TopicPartition, Future[Any]]) -> Future[dict[TopicPartition, Any]]:
    """Join the futures of one request into one; the first error is the error of the result."""
    joined: Future[dict[TopicPartition, Any]] = Future()
    try:
        joined.set_result({tp: future.result(REQUEST_TIMEOUT * 2) for tp, future in futures.items()})
    except ck.KafkaException as error:
        joined.set_exception(error)
    return joined


# The dead-letter topic, created if it is missing.


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
