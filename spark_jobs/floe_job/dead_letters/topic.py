"""Dead letters to a Kafka topic, as Kafka Connect writes them."""

from collections.abc import Iterable, Mapping
from typing import Any, Self

import confluent_kafka as ck

from floe.kafka.access import login_of
from floe.kafka.client_log import ClientLog
from floe.kafka.tokens import with_tokens
from floe_job.contract.dead_letter import DeadLetter
from floe_job.exceptions import DeadLetterRefused, DeadLetterUndelivered, JobError, SliceRefused, connect_stage

Headers = list[tuple[str, bytes | None]]

DELIVERY_SECONDS = 60.0
"""Seconds after which a dead letter that no broker accepted counts as undelivered."""

_PREFIX = "__connect.errors."

_DEFAULTS: Mapping[str, Any] = {
    "log_level": 4,
    "message.timeout.ms": int(DELIVERY_SECONDS * 1000),
    "message.max.bytes": 128_000_000,  # the topic decides; a dead letter above the queue's size would wait forever
    "queue.buffering.max.kbytes": 131_072,
    "batch.size": 16_384,  # a batch is refused as a whole, so it contains few dead letters
    "compression.type": "zstd",
}
_FIXED: Mapping[str, Any] = {"acks": "all", "enable.idempotence": True}

_ADVICE = {
    ck.KafkaError.MSG_SIZE_TOO_LARGE: (
        "raise max.message.bytes of that topic above that of the topic it was read from: headers are added"
    ),
    ck.KafkaError.RECORD_LIST_TOO_LARGE: "raise segment.bytes of that topic",
    ck.KafkaError.TOPIC_AUTHORIZATION_FAILED: "grant Write on it",
    ck.KafkaError.CLUSTER_AUTHORIZATION_FAILED: "grant IdempotentWrite on the cluster",
    ck.KafkaError.SASL_AUTHENTICATION_FAILED: "check the Kafka connection",
    ck.KafkaError.INVALID_RECORD: "set cleanup.policy=delete on it: a compacted topic takes no records without a key",
    ck.KafkaError.INVALID_TIMESTAMP: "raise message.timestamp.after.max.ms and message.timestamp.before.max.ms of it",
}
"""What to do where the same dead letter would be refused again."""


class DeadLetterTopic:
    """Produces dead letters at least once: a run that fails after ``flush`` sends them again.

    A dead letter keeps the record's key, value, headers and timestamp; the topic's retention counts from the timestamp.
    The value of a refused tombstone is null here, too.
    """

    def __init__(
        self,
        producer: ck.Producer,
        topic: str,
        context_headers: bool,
        connector: str,
        *,
        task_index: int = 0,
        login: str = "the Kafka client",
    ) -> None:
        """``login``: who writes, for messages. :meth:`open` makes the producer."""
        self._login = login
        self._producer = producer
        self._topic = topic
        self._context_headers = context_headers
        self._connector = connector
        self._task_index = task_index
        self._failed: tuple[str, ck.KafkaError] | None = None
        self._failures = 0

    @classmethod
    def open(
        cls, conf: Mapping[str, Any], topic: str, context_headers: bool, connector: str, *, task_index: int = 0
    ) -> Self:
        """Open a producer; ``conf`` is a client's and may contain secrets. Raises SliceRefused for unusable settings."""
        try:
            producer = ck.Producer({**_DEFAULTS, **with_tokens(conf), **_FIXED, "logger": ClientLog()})
        except ck.KafkaException as error:
            msg = (
                f"the settings of the Kafka connection are refused for dead-letter topic {topic!r}: "
                f"{error.args[0].str()}; correct the connection or the connector's overrides"
            )
            raise SliceRefused(msg) from error
        return cls(producer, topic, context_headers, connector, task_index=task_index, login=login_of(conf))

    def send(self, dead_letters: Iterable[DeadLetter]) -> None:
        """Pass dead letters to the producer. Raises DeadLetterRefused, DeadLetterUndelivered, also for those sent earlier."""
        for dead_letter in dead_letters:
            self._produce(dead_letter)
            self._producer.poll(0)
            self._raise_failure()

    def flush(self) -> None:
        """Wait until all dead letters are in the topic. Raises DeadLetterRefused, DeadLetterUndelivered."""
        left = self._producer.flush(DELIVERY_SECONDS + 5)
        self._raise_failure()
        if left:
            msg = (
                f"dead-letter topic {self._topic!r} did not accept {left} dead letters within {DELIVERY_SECONDS + 5:.0f} "
                "s: is the broker up? Run again; those that arrived are sent a second time."
            )
            raise DeadLetterUndelivered(msg)

    def _produce(self, dead_letter: DeadLetter) -> None:
        record: dict[str, Any] = {
            "key": dead_letter.key,
            "value": dead_letter.value,
            "headers": self._headers(dead_letter),
        }
        if dead_letter.timestamp is not None and dead_letter.timestamp > 0:  # the client takes 0 for the current time
            record["timestamp"] = dead_letter.timestamp
        place = dead_letter.place

        def delivered(error: ck.KafkaError | None, _: ck.Message) -> None:
            # kept to be raised later: the client changes the errors that a callback raises
            if error is not None:
                self._failures += 1
                self._failed = self._failed or (place, error)

        while True:
            try:
                self._producer.produce(self._topic, on_delivery=delivered, **record)
            except BufferError as error:
                if not len(self._producer):
                    raise self._undelivered(place, ck.KafkaError(ck.KafkaError.MSG_SIZE_TOO_LARGE)) from error
                self._producer.poll(0.1)
                self._raise_failure()
            except ck.KafkaException as error:
                raise self._undelivered(place, error.args[0]) from error
            else:
                return

    def _headers(self, dead_letter: DeadLetter) -> Headers:
        headers: Headers = list(dead_letter.headers)
        if self._context_headers:
            # A record that was a dead letter before has such headers already. Of several of one name the last counts.
            headers += connect_headers(dead_letter, self._connector, self._task_index)
        return headers

    def _raise_failure(self) -> None:
        if self._failed is not None:
            place, error = self._failed
            raise self._undelivered(place, error)

    def _undelivered(self, place: str, error: ck.KafkaError) -> JobError:
        more = f" ({self._failures} failed so far)" if self._failures > 1 else ""
        what = (
            f"the dead letter of {place} could not be written to dead-letter topic {self._topic!r} by "
            f"{self._login}{more}: {error.str()} ({error.name()}). "
        )
        advice = _ADVICE.get(error.code())
        if advice is not None:
            return DeadLetterRefused(f"{what}Nothing was announced; {advice}, then run again.")
        return DeadLetterUndelivered(
            f"{what}Is the broker up, does the topic exist? Run again; dead letters that arrived are sent a second time."
        )


def connect_headers(dead_letter: DeadLetter, connector: str, task_index: int) -> Headers:
    """Return the context headers of Kafka Connect: the values are texts in UTF-8.

    Stages have Connect's names. The executing class is floe's step. The stack trace is replaced by the reason.
    """
    context = {
        "topic": dead_letter.topic,
        "partition": str(dead_letter.partition),
        "offset": str(dead_letter.offset),
        "connector.name": connector,
        "task.id": str(task_index),
        "stage": connect_stage(dead_letter.stage),
        "class.name": f"floe.{dead_letter.stage}",
        "exception.class.name": dead_letter.error,
        "exception.message": dead_letter.short_reason,
        "exception.stacktrace": f"{dead_letter.error}: {dead_letter.short_reason}",
    }
    return [(_PREFIX + name, text.encode("utf-8", "replace")) for name, text in context.items()]
