"""The brokers' state: topics, log starts, last stable offsets, groups. Admin calls only, no records are consumed."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Any, NamedTuple

import confluent_kafka as ck
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclOperation,
    AdminClient,
    OffsetSpec,
)

from floe.kafka.access import Action, Client
from floe.kafka.admin_topics import TopicDescription, Topics
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import (
    NOT_ALLOWED,
    ControlTopicUnusable,
    GroupInUse,
    KafkaUnreachable,
    PositionsUnstable,
    TopicMissing,
    TopicNotCreated,
)
from floe.kafka.settings import REQUEST_TIMEOUT, TRANSACTION_TIMEOUT, TRANSACTIONS, KafkaSettings
from floe.model.positions import Position
from floe.model.ranges import PartitionLog, TopicPartition

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
    def of_source(cls, settings: KafkaSettings) -> "Cluster":
        """Open the cluster whose topics are read."""
        return cls.open(settings.source, settings.origin)

    @classmethod
    def of_control(cls, settings: KafkaSettings) -> "Cluster":
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

        def send() -> Mapping[ck.TopicPartition, "Future[Any]"]:
            return self._admin.list_offsets(asked, isolation_level=isolation, request_timeout=REQUEST_TIMEOUT)

        sent = [send()]

        def request() -> "Future[dict[TopicPartition, Any]]":
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

    def _list_positions(self, group_id: str, wanted: list[ck.TopicPartition] | None) -> "Future[Any]":
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


def _gathered(futures: Mapping[TopicPartition, "Future[Any]"]) -> "Future[dict[TopicPartition, Any]]":
    """Join the futures of one request into one; the first error is the error of the result."""
    joined: Future[dict[TopicPartition, Any]] = Future()
    try:
        joined.set_result({tp: future.result(REQUEST_TIMEOUT * 2) for tp, future in futures.items()})
    except ck.KafkaException as error:
        joined.set_exception(error)
    return joined
