"""Settings of Kafka clients: worker file, Airflow connection, the connector's overrides over it, floe's own on top."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from floe.config import Connector
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.layers import Conf, Layer, Shared
from floe.kafka.reader_limits import ReaderLimits

REQUEST_TIMEOUT = 15.0
"""Seconds an admin call may take before the broker counts as unreachable."""

QUIET = 4
"""librdkafka's log level: warnings; failures are raised as errors anyway."""

FIRST_BACKOFF = 1
"""Milliseconds before the second connection, doubled before each further one. Every client of librdkafka needs a second one:
it closes the first after it has found the cluster, and would wait 50 to 150 ms."""

_BASE: Conf = {"log_level": QUIET, "reconnect.backoff.ms": FIRST_BACKOFF}

TRANSACTION_TIMEOUT = 60.0
"""Seconds after which the broker aborts a transaction that its producer left open."""

TRANSACTIONS = "__transaction_state"
"""The topic in which brokers keep transactions: a small metadata request. Clients without permission get an answer, too."""

FETCH_WAIT = 5
"""Milliseconds that a broker may delay a fetch without records. Readers request existing records only, and a fetch that
waits delays the next range of the same consumer: with the client's 500 each range costs up to a second."""

CONTROL_QUEUE = 16_384
"""Kibibytes of the control topic that a reader fetches ahead; any user who may write to the topic can add more."""

MAX_RECORD_BYTES = 8_000_000
"""Bytes of a control record before compression; the topic's own limit counts bytes after compression."""

_RECEIVE = "receive.message.max.bytes"
_SOURCE_KEYS, _CONTROL_KEYS = "consumer.override.*", "iceberg.kafka.*"

_ASSIGNED: Mapping[str, Any] = {
    "group.id": "floe-unused",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    "check.crcs": True,
}
"""Settings with which a consumer reads what it was assigned, committed records only, and reports the end. It fails if it
cannot, and if batches are corrupt."""


@dataclass(frozen=True)
class KafkaSettings:
    """Client properties under librdkafka's names; values may be secrets, so ``repr`` does not show them.

    ``source``: for the topics that are read. ``control``: for the control topic and the group's positions.
    ``origin``: where they are from, for messages.
    """

    source: Mapping[str, Any] = field(repr=False)
    control: Mapping[str, Any] = field(repr=False)
    origin: str

    @classmethod
    def of(cls, connector: Connector, extra: Mapping[str, Any]) -> "KafkaSettings":
        """Merge the extra of the Airflow connection with the connector's own keys. Raises KafkaMisconfigured."""
        return cls.over(Shared(connector.connections.kafka, extra), connector)

    @classmethod
    def over(cls, shared: Shared, connector: Connector) -> "KafkaSettings":
        """Put the connector's own keys over what connectors share.

        Raises KafkaMisconfigured when there are no brokers or a setting is given that only Java's clients understand.
        """
        overrides = {k: v for k, v in connector.clients.consumer.items() if k != "auto.offset.reset"}
        own = (Layer(_SOURCE_KEYS, overrides), Layer(_CONTROL_KEYS, connector.clients.control))
        source, control = (
            _BASE | shared.conf(client, layer)
            for client, layer in zip((shared.worker.source, shared.worker.control), own, strict=True)
        )
        also = [layer.where for layer in own if layer.settings]
        origin = shared.origin + (f" with the connector's {' and '.join(also)}" if also else "")
        for conf, topics in ((source, "the topics that are read"), (control, "the control topic")):
            if not conf.get("bootstrap.servers"):
                msg = f"{origin} names no brokers for {topics}: {shared.remedy}"
                raise KafkaMisconfigured(msg)
        return cls(source, control, origin)

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "KafkaSettings":
        """Read what :meth:`to_json` wrote."""
        return cls(fields["source"], fields["control"], str(fields["origin"]))

    def to_json(self) -> dict[str, Any]:
        """Write the settings, with their secrets, for a private file."""
        return {"source": dict(self.source), "control": dict(self.control), "origin": self.origin}

    @property
    def secrets(self) -> dict[str, Any]:
        """The settings among which secrets are, for those who hide them: all but certificates, which anyone may know."""
        both = (("source", self.source), ("control", self.control))
        return {f"{of}.{name}": value for of, conf in both for name, value in conf.items() if name != "ssl.ca.pem"}

    def reader(self, limits: ReaderLimits | None = None) -> Conf:
        """Return the settings of a consumer that is assigned a range and must read it whole or fail."""
        limits = limits or ReaderLimits()
        given = str(self.source.get(_RECEIVE, "")).strip()
        return {
            "queued.min.messages": 50_000,
            "queued.max.messages.kbytes": limits.queue_bytes // 1024,
            "fetch.queue.backoff.ms": 1,
            "fetch.wait.max.ms": FETCH_WAIT,
            **self.source,
            **_ASSIGNED,
            _RECEIVE: max(limits.receive_bytes, int(given) if given.isdecimal() else 0),
        }

    def control_reader(self) -> Conf:
        """Return the settings of a consumer that is assigned the control topic's partitions."""
        return {
            "fetch.wait.max.ms": FETCH_WAIT,
            "queued.max.messages.kbytes": CONTROL_QUEUE,
            "fetch.queue.backoff.ms": 1,
            **self.control,
            **_ASSIGNED,
        }

    def group_member(self, group_id: str) -> Conf:
        """Return the settings of a consumer that provides its group's metadata for a transaction and never subscribes."""
        return {**self.control_reader(), "group.id": group_id}

    def producer(self, transactional_id: str) -> Conf:
        """Return the settings of a transactional producer."""
        return {
            "linger.ms": 0,
            "message.max.bytes": MAX_RECORD_BYTES,
            "compression.type": "zstd",
            **self.control,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": int(TRANSACTION_TIMEOUT * 1000),
            "enable.idempotence": True,
            "acks": "all",
            # a request for a topic's metadata does not create it
            "allow.auto.create.topics": False,
        }
