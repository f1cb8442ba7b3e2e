"""One fenced Kafka transaction: control events, and positions if they move."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple, Self

import confluent_kafka as ck

from floe.config import Connector
from floe.crash_points import CrashPoint, reach
from floe.kafka.access import Action, Client
from floe.kafka.admin import Cluster
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import (
    NOT_ALLOWED,
    UNREACHABLE,
    Fenced,
    KafkaMisconfigured,
    KafkaUnreachable,
    PositionFull,
    TransactionFailed,
)
from floe.kafka.settings import REQUEST_TIMEOUT, TRANSACTION_TIMEOUT, TRANSACTIONS, KafkaSettings
from floe.kafka.tokens import with_tokens
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan
from floe.model.positions import MAX_METADATA_LENGTH, Position, PositionMetadata

Headers = list[tuple[str, str | bytes | None]]

POSITIONS_BYTES = 400_000
"""Bytes of positions in one request: the group's coordinator writes them as one batch, and refuses one above its
topic's message limit (1,048,588 by default). A transaction may have any number of requests."""


REHEARSAL_AGE = 120
"""Seconds before now that the record of a rehearsal is dated."""

UNTIL_CONNECTED, CONNECT_SECONDS = 2, 5.0
"""Requests after which a client has a lasting connection. librdkafka closes the first one after it has found the
cluster; half of the requests for the coordinator at that time fail, and are repeated only half a second later."""


class ControlRecord(NamedTuple):
    """One record for the control topic."""

    value: bytes
    headers: Headers


class TransactionalProducer:
    """A producer that has fenced all earlier ones of its transactional id.

    A second one of the same id aborts what the first left open; the first then fails with Fenced.
    """

    def __init__(
        self, settings: KafkaSettings, transactional_id: str, producer: ck.Producer, client_log: ClientLog
    ) -> None:
        """Use a client; :meth:`open` makes one that has fenced the others."""
        self._settings = settings
        self._id = transactional_id
        self._producer = producer
        self._log = client_log
        self._used: dict[str, str] = {}
        self._has_fenced = False

    @classmethod
    def open(cls, settings: KafkaSettings, transactional_id: str) -> Self:
        """Open a producer and fence earlier ones. Raises as :meth:`connecting` and :meth:`fence`."""
        producer = cls.connecting(settings, transactional_id)
        producer.fence()
        return producer

    @classmethod
    def connecting(cls, settings: KafkaSettings, transactional_id: str) -> Self:
        """Make a producer that connects while its owner does other things; it has to fence before it sends.

        Raises KafkaMisconfigured.
        """
        client_log = ClientLog()
        try:
            # without its own callback the client raises a fatal error from inside the next call
            own = {"logger": client_log, "error_cb": lambda _: None}
            client = ck.Producer({**with_tokens(settings.producer(transactional_id)), **own})
        except ck.KafkaException as error:
            msg = f"{settings.origin} is not usable: {error.args[0].str()}"
            raise KafkaMisconfigured(msg) from error
        return cls(settings, transactional_id, client, client_log)

    def fence(self) -> None:
        """Fence earlier producers of the same id, once. Raises KafkaUnreachable, TransactionFailed."""
        if self._has_fenced:
            return
        with self._map_errors("fence earlier producers"):
            self._connect()
            # waits for the open transaction of a predecessor to be aborted
            self._producer.init_transactions(TRANSACTION_TIMEOUT)
        self._has_fenced = True

    def _connect(self) -> None:
        """Get a lasting connection. If this fails, the call that needs it raises the error."""
        with suppress(ck.KafkaException):
            for _ in range(UNTIL_CONNECTED):
                self._producer.list_topics(TRANSACTIONS, CONNECT_SECONDS)

    def send(
        self,
        topic: str,
        key: str,
        records: Iterable[ControlRecord],
        positions: Sequence[Position] = (),
        group_id: str | None = None,
    ) -> None:
        """Send records and positions in one transaction, all or nothing.

        Raises Fenced, KafkaUnreachable or TransactionFailed. After a time-out of the commit itself the outcome is unknown:
        the caller must read positions again and look announcements up.
        """
        read = ", ".join(sorted({repr(position.tp.topic) for position in positions})[:20])
        self._used = {"topic": repr(topic), "group": repr(group_id), "read": read or "(none)"}
        with self._map_errors("commit the transaction"):
            self._producer.begin_transaction()
            try:
                self._fill(topic, key, records)
                if positions:
                    self._send_positions(positions, group_id)
            except BaseException:
                self._abort()
                raise
            reach(CrashPoint.TRANSACTION_SENT)
            try:
                self._producer.commit_transaction(TRANSACTION_TIMEOUT)
            except ck.KafkaException as error:
                if error.args[0].txn_requires_abort():
                    self._abort()
                raise
            reach(CrashPoint.TRANSACTION_COMMITTED)

    def rehearse(self, topic: str, key: str, record: ControlRecord) -> None:
        """Send a record in a transaction and abort it: consumers of committed records never see it.

        The record gets a time of ``REHEARSAL_AGE`` seconds ago, so that the newest one is that of the brokers' own marker.
        Raises what :meth:`send` raises, NotPermitted too.
        """
        self._used = {"topic": repr(topic), "group": "(none)", "read": "(none)"}
        refused: list[ck.KafkaError] = []
        with self._map_errors("write a record"):
            self._producer.begin_transaction()
            try:
                self._producer.produce(
                    topic,
                    value=record.value,
                    key=key,
                    headers=record.headers,
                    timestamp=int((time.time() - REHEARSAL_AGE) * 1000),
                    on_delivery=lambda error, _: refused.append(error) if error is not None else None,
                )
                if self._producer.flush(REQUEST_TIMEOUT) or refused:
                    raise ck.KafkaException(refused[0] if refused else ck.KafkaError(ck.KafkaError._TIMED_OUT))
            except BaseException:
                self._abort()
                raise
            self._producer.abort_transaction(REQUEST_TIMEOUT)

    def _acls(self, code: int) -> str:
        """Return the ACLs that a transaction needs, of the kind that the brokers name."""
        if code == ck.KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return f"Describe and Write on TransactionalId {self._id!r}"
        if code == ck.KafkaError.GROUP_AUTHORIZATION_FAILED:
            return f"Describe and Read on group {self._used['group']}"
        if code == ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED:
            return "IdempotentWrite on the cluster"
        return f"Describe and Write on topic {self._used['topic']}, and Read on topic {self._used['read']}"

    def _fill(self, topic: str, key: str, records: Iterable[ControlRecord]) -> None:
        """Produce the records and wait until each is accepted or refused.

        A refused record makes the commit fail. There is no delivery callback: a fenced producer raises from inside the
        client, and a callback that runs then turns its error into a SystemError.
        """
        for record in records:
            self._producer.produce(topic, value=record.value, key=key, headers=record.headers)
            self._producer.poll(0)
        left = self._producer.flush(REQUEST_TIMEOUT * 2)
        if left:
            msg = (
                f"control topic {topic!r} on {self._settings.control['bootstrap.servers']} did not take {left} record(s) "
                f"within {REQUEST_TIMEOUT * 2:.0f} s: is the broker up, does the topic exist? The transaction is aborted, "
                "and consumers see nothing of it. Run again."
            )
            raise KafkaUnreachable(msg)

    def _abort(self) -> None:
        """Abort at once if possible. Otherwise the broker aborts at the time-out, and readers wait until then."""
        with suppress(ck.KafkaException):
            self._producer.abort_transaction(REQUEST_TIMEOUT)

    def _send_positions(self, positions: Sequence[Position], group_id: str | None) -> None:
        if group_id is None:
            msg = "positions need the group that they belong to"
            raise ValueError(msg)
        lender = ck.Consumer({**with_tokens(self._settings.group_member(group_id)), "logger": self._log})
        try:
            for batch in _batches(positions, group_id):
                offsets = [_committed(position) for position in batch]
                self._producer.send_offsets_to_transaction(offsets, lender.consumer_group_metadata(), REQUEST_TIMEOUT)
        finally:
            lender.close()

    @contextmanager
    def _map_errors(self, action: str) -> Iterator[None]:
        """Map librdkafka's errors to floe's, naming the transactional id."""
        try:
            yield
        except ck.KafkaException as error:
            reason: ck.KafkaError = error.args[0]
            if reason.code() in (ck.KafkaError._FENCED, ck.KafkaError.INVALID_PRODUCER_EPOCH):
                msg = f"{self._id!r}: another run of this connector took over ({reason.str()}). This run stops"
                raise Fenced(msg) from error
            client = Client.of(self._settings.control, self._settings.origin)
            if reason.code() in NOT_ALLOWED:
                acls = self._acls(reason.code())
                doing = Action(f"{action} with transactional id {self._id!r}", acls)
                raise client.not_permitted(doing, f"{reason.str()} ({reason.name()})") from error
            is_away = reason.code() in UNREACHABLE
            why = (self._log.drained(self._producer) if is_away else None) or reason.str()
            refused = client.of_connection(why) if is_away else None
            if refused is not None:
                raise refused from error
            msg = (
                f"{self._id!r}: could not {action} on {self._settings.control['bootstrap.servers']}: {why} "
                f"({reason.name()}); what was sent is aborted, or the next run finds it"
            )
            kind = KafkaUnreachable if is_away else TransactionFailed
            raise kind(msg) from error


def _committed(position: Position) -> ck.TopicPartition:
    """Return a position as it is committed, with its leader epoch also where other consumers look for it."""
    metadata = PositionMetadata.decode(position.metadata)
    epoch = metadata.epoch.number if metadata is not None and metadata.epoch is not None else -1
    return ck.TopicPartition(*position.tp, position.offset, metadata=position.metadata, leader_epoch=epoch)


def _batches(positions: Sequence[Position], group_id: str) -> Iterator[list[Position]]:
    """Split positions into requests of at most ``POSITIONS_BYTES``, by the bytes that the coordinator writes for each."""
    batch: list[Position] = []
    size = 0
    for position in positions:
        written = len(group_id) + len(position.tp.topic) + len(position.metadata.encode()) + 100
        if batch and size + written > POSITIONS_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(position)
        size += written
    yield batch


# Moving positions: fence, read, decide, and send them with their events in one transaction.


class Move(NamedTuple):
    """The contents of a transaction: events for the control topic, and positions."""

    records: Sequence[ControlRecord]
    positions: Sequence[Position]


def commit_transactional_id(connector: Connector) -> str:
    """Name the producer that writes positions; opening it fences all earlier ones."""
    return f"{connector.committing.transactional_prefix}floe-{connector.name}-commit"


def replay_transactional_id(connector: Connector, plan: Plan) -> str:
    """Name the producer of a replay's own events; its slices' announcements have ids of their own."""
    return f"{connector.committing.transactional_prefix}floe-{connector.name}-replay-{plan.plan_id}"


def writer_of_positions(connector: Connector, settings: KafkaSettings) -> TransactionalProducer:
    """Return the producer that writes positions, on its way to the brokers.

    When it fences, it aborts open transactions of earlier ones, which would hide positions.
    """
    return TransactionalProducer.connecting(settings, commit_transactional_id(connector))


def move_positions(
    connector: Connector,
    settings: KafkaSettings,
    partitions: Sequence[TopicPartition],
    decide: Callable[[Mapping[TopicPartition, Position]], Move | None],
    producer: TransactionalProducer | None = None,
) -> bool:
    """Send positions and events in one fenced transaction. Return whether there was something to do.

    ``producer``: an earlier one; a new one otherwise. It fences here if it has not yet.

    ``decide`` gets the stable positions of ``partitions``, as found after fencing, and returns what to send, or None
    when nothing is left to do; it raises when the positions are not those that the caller expects. Raises GroupInUse,
    Fenced, PositionFull and the transaction's errors.
    """
    producer = producer or writer_of_positions(connector, settings)
    producer.fence()
    cluster = Cluster.of_control(settings)
    cluster.check_no_members(connector.group_id)
    move = decide(cluster.positions(connector.group_id, partitions))
    if move is None:
        return False
    for position in move.positions:
        if len(position.metadata.encode()) > MAX_METADATA_LENGTH:
            msg = (
                f"{len(position.backlogs)} tables are behind on {position.tp}. Their offsets need "
                f"{len(position.metadata.encode())} bytes of commit metadata, but the broker allows {MAX_METADATA_LENGTH}, "
                "so no offset was committed. Fix the tables listed above, or drop the backlog of some with the parameter "
                "`drop_backlog`, then run again."
            )
            raise PositionFull(msg)
    if move.records or move.positions:
        producer.send(connector.control_topic, connector.group_id, move.records, move.positions, connector.group_id)
    return True
