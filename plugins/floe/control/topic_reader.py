"""Reading the control topic: from recorded ends to the last stable offset, committed records only."""

import time
from collections.abc import Iterable, Iterator, Mapping
from operator import methodcaller
from typing import NamedTuple

import confluent_kafka as ck

from floe.kafka.access import Action, Client
from floe.kafka.admin import Cluster
from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import NOT_ALLOWED, ControlTopicUnusable, KafkaError, KafkaUnreachable, TopicMissing
from floe.kafka.settings import REQUEST_TIMEOUT, KafkaSettings
from floe.kafka.tokens import with_tokens
from floe.model.offsets import TopicPartition

_PASSING = {ck.KafkaError._ALL_BROKERS_DOWN, ck.KafkaError.GROUP_AUTHORIZATION_FAILED}
"""Answers that end nothing: the client also looks its group up, which it needs for nothing."""


class ControlMessage(NamedTuple):
    """One committed record of the control topic; ``headers`` as text, of one name the last."""

    partition: int
    offset: int
    key: str | None
    value: bytes
    headers: Mapping[str, str]


def control_ends(cluster: Cluster, topic: str) -> dict[int, int]:
    """Return the last stable offset of every partition of the control topic.

    Raises ControlTopicUnusable when it does not exist.
    """
    try:
        return {log.tp.partition: log.stable_end for log in cluster.logs([topic])}
    except TopicMissing as error:
        msg = (
            f"control topic {topic!r} does not exist: it was deleted since the plan was made, with its announcements. "
            "Nothing is lost: the next run creates it if it may, and reads the same ranges again."
        )
        raise ControlTopicUnusable(msg, code="FLOE-207") from error


def read_control(
    settings: KafkaSettings, topic: str, starts: Mapping[int, int], ends: Mapping[int, int], key: str | None = None
) -> Iterator[ControlMessage]:
    """Yield the committed records of ``[starts, ends)``, partition by partition, in offset order.

    With a ``key``, only records with this key are yielded; the headers of others are not read. A partition that ``starts``
    does not name was added later and is read from its beginning. Raises ControlTopicUnusable when the topic is shorter than
    before or has lost its beginning, KafkaUnreachable when the broker does not deliver up to the ends in time.
    """
    wanted = None if key is None else key.encode()
    consumer = ck.Consumer({**with_tokens(settings.control_reader()), "logger": ClientLog()})
    client = Client.of(settings.control, settings.origin)
    try:
        for partition, end in sorted(ends.items()):
            start = starts.get(partition, 0)
            if start > end:
                msg = (
                    f"control topic {topic!r} ends at {end} in partition {partition}, but at {start} when the plan was made: "
                    "it was deleted and created again, and its announcements are gone. Nothing is lost: the next run reads "
                    "the same ranges again."
                )
                raise ControlTopicUnusable(msg, code="FLOE-207")
            if start < end:
                for message in _read_partition(consumer, client, TopicPartition(topic, partition), start, end):
                    if wanted is None or message.key() == wanted:
                        yield _control_message(message)
    finally:
        consumer.close()


def _read_partition(
    consumer: ck.Consumer, client: Client, tp: TopicPartition, start: int, end: int
) -> Iterator[ck.Message]:
    consumer.assign([ck.TopicPartition(tp.topic, tp.partition, start)])
    quiet_until = time.monotonic() + REQUEST_TIMEOUT * 2
    while True:
        message = consumer.poll(0.5)
        if message is not None:
            error = message.error()
            if error is not None and error.code() != ck.KafkaError._PARTITION_EOF:
                if error.retriable() or error.code() in _PASSING:
                    continue
                if error.code() in (ck.KafkaError._AUTO_OFFSET_RESET, ck.KafkaError.OFFSET_OUT_OF_RANGE):
                    msg = (
                        f"control topic {tp} no longer has the offsets from {start} on: retention or a deletion removed "
                        "announcements before they were committed. Nothing is lost: the next run reads the same ranges "
                        "again. Trigger a replay again; it skips what the tables contain. Give the topic a longer "
                        "retention."
                    )
                    raise ControlTopicUnusable(msg, code="FLOE-207")
                raise _unreadable(client, tp, f"[{start}, {end})", error)
            quiet_until = time.monotonic() + REQUEST_TIMEOUT * 2
            if (message.offset() or 0) >= end:
                return
            if error is None:
                yield message
                if (message.offset() or 0) + 1 >= end:
                    return
        if time.monotonic() > quiet_until:
            msg = f"control topic {tp} did not deliver [{start}, {end}) in time: is the broker up? Run again."
            raise KafkaUnreachable(msg, code="FLOE-207")


def _unreadable(client: Client, tp: TopicPartition, offsets: str, error: ck.KafkaError) -> KafkaError:
    if error.code() in NOT_ALLOWED:
        action = Action(f"read control topic {tp.topic!r}", f"Describe and Read on topic {tp.topic!r}")
        return client.not_permitted(action, f"{error.str()} ({error.name()})")
    msg = f"control topic {tp} cannot be read at {offsets}: {error.str()} ({error.name()})"
    return KafkaUnreachable(msg, code="FLOE-207")


def _control_message(message: ck.Message) -> ControlMessage:
    headers: dict[str, str] = {}
    for name, value in _headers(message):
        text = value if isinstance(value, str) else (value or b"").decode("utf-8", "replace")
        headers[name] = text
    key = message.key()
    text_key = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
    value = message.value()
    raw = value.encode() if isinstance(value, str) else (value or b"")
    return ControlMessage(message.partition() or 0, message.offset() or 0, text_key, raw, headers)


_headers_of = methodcaller("headers")
"""``message.headers()``, by a call after which Python checks whether an error is set."""


def _headers(message: ck.Message) -> Iterable[tuple[str, str | bytes | None]]:
    """Return a record's headers; none if a name is not UTF-8, which neither floe nor the Java sink writes.

    The client then leaves the decoder's error set and returns a list with a missing element. An ordinary call would raise
    SystemError or, after the interpreter has specialised the call and no longer checks, end the process.
    """
    try:
        return _headers_of(message) or []
    except (UnicodeDecodeError, SystemError):
        return []
