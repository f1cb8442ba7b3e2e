"""Settings of Kafka clients: worker file, Airflow connection, the connector's overrides over it, floe's own on top."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from floe.config import Connector
from floe.config.kafka.client_keys import (
    BROKERS,
    gives_brokers,
    gives_login,
    half_identity,
    has_login,
    other_brokers,
    over,
    redirected,
    without_cluster,
    without_login,
)
from floe.config.kafka.translation import take_stores, translate
from floe.config.kafka.worker_keys import WorkerClient, WorkerKeys
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.reader_limits import ReaderLimits
from floe.tls.store_file import StoreFile, StoreUnusable
from floe.tls.stores import identity, trusted_certificates

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
    def of(cls, connector: Connector, extra: Mapping[str, Any]) -> KafkaSettings:
        """Merge the extra of the Airflow connection with the connector's own keys. Raises KafkaMisconfigured."""
        return cls.over(Shared(connector.connections.kafka, extra), connector)

    @classmethod
    def over(cls, shared: Shared, connector: Connector) -> KafkaSettings:
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
    def from_json(cls, fields: Mapping[str, Any]) -> KafkaSettings:
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


# Client settings from three places: the worker file, the Airflow connection over it, the connector's own over both.


log = logging.getLogger(__name__)

Conf = dict[str, Any]

Resolve = Callable[[Mapping[str, str]], Mapping[str, str]]
"""Returns settings of the worker file, by their keys there, with values in the place of references."""

NOTHING_DONE = "Nothing was read or written"


def _as_they_are(settings: Mapping[str, str]) -> Mapping[str, str]:
    return settings


@dataclass(frozen=True)
class Layer:
    """The settings of one place for one client. ``where``: the place, for messages; ``spelled``: its own names of keys.

    ``is_java``: they were written for Java's clients.
    """

    where: str
    settings: Mapping[str, Any] = field(repr=False)
    spelled: Mapping[str, str] = field(default_factory=dict)
    is_java: bool = False

    def named(self, name: str) -> str:
        """Return a setting with its place, for messages."""
        return (
            f"{self.where[:-1]}{name}" if self.where.endswith("*") else f"{self.where}: {self.spelled.get(name, name)}"
        )


@dataclass(frozen=True)
class Shared:
    """The places that connectors share. ``connection``: the extra of the Airflow connection ``conn_id``; None without one."""

    conn_id: str
    connection: Mapping[str, Any] | None = field(repr=False)
    worker: WorkerKeys = WorkerKeys()  # noqa: RUF009 - immutable
    resolve: Resolve = _as_they_are

    @property
    def origin(self) -> str:
        """Where brokers and login are from, for messages."""
        connection = f"the Airflow connection {self.conn_id!r}"
        if self.connection is None:
            return self.worker.named
        if self._has_workers_brokers:
            return f"{self.worker.named} with {connection}" if self.connection else self.worker.named
        is_over = any(without_cluster(client.settings) for client in (self.worker.control, self.worker.source))
        return f"{connection} over {self.worker.named}" if is_over else connection

    @property
    def remedy(self) -> str:
        """What to do where there are no brokers."""
        extra = (
            f'put {{"bootstrap.servers": "host:9092"}} into the extra field of the Airflow connection {self.conn_id!r}'
        )
        return f"{extra}, or bootstrap.servers=host:9092 into {self.worker.named}"

    @property
    def _has_workers_brokers(self) -> bool:
        return self.worker.has_brokers and not gives_brokers(self.connection or {})

    def conf(self, client: WorkerClient, override: Layer) -> Conf:
        """Return the settings of one client in librdkafka's names. Raises KafkaMisconfigured."""
        connection = Layer(f"the Airflow connection {self.conn_id!r}", self.connection or {})
        worker = Layer(self.worker.named, self._of_worker(client, override.settings), client.spelled, is_java=True)
        conf: Conf = {}
        spelled: dict[str, str] = {}
        for layer in (_guarded(worker, (connection, override)), _kept(worker, connection, override), override):
            found = _translated(layer)
            conf = over(conf, found)
            spelled |= {name: f"{layer.where}: {layer.spelled.get(name, name)}" for name in found}
        half = half_identity(conf)
        if half is not None:
            given, missing = half
            msg = (
                f"{spelled[given]}: it is half of a client's identity, as no place gives the other half; one in a key store "
                f"of another place is not mixed with it. Set {missing} beside it, or remove it. {NOTHING_DONE}"
            )
            raise KafkaMisconfigured(msg)
        return with_texts(take_stores(conf, spelled))

    def _of_worker(self, client: WorkerClient, override: Mapping[str, Any]) -> Mapping[str, str]:
        """Return what counts of the worker file, with values: its security is for its own brokers only."""
        if gives_brokers(self.connection or {}) or self._names_others(client, override):
            return self._values(client, without_cluster(client.settings))
        return self._values(client, client.settings)

    def _names_others(self, client: WorkerClient, override: Mapping[str, Any]) -> bool:
        """Whether the connector's own settings name other brokers than the worker file."""
        if not gives_brokers(override):
            return False
        brokers = {name: text for name, text in client.settings.items() if name in BROKERS}
        return bool(other_brokers(self._values(client, brokers), override))

    def _values(self, client: WorkerClient, settings: Mapping[str, str]) -> Mapping[str, str]:
        found = self.resolve({client.spelled[name]: text for name, text in settings.items()})
        return {name: found[client.spelled[name]] for name in settings}


def _guarded(worker: Layer, above: Sequence[Layer]) -> Layer:
    """Return the worker file's settings: without its login, where a place above would let others have it."""
    if not has_login(worker.settings):
        return worker
    below, elsewhere = _translated(worker), list[str]()
    for layer in above:
        found = _translated(layer)
        elsewhere += [layer.named(name) for name in redirected(below, found)]
        below = over(below, found)
    if not elsewhere:
        return worker
    log.warning(
        "the login of %s is not used: %s would let others have it. Remove the setting, or give a login beside it",
        worker.where,
        " and ".join(elsewhere),
    )
    return replace(worker, settings=without_login(worker.settings))


def _kept(worker: Layer, connection: Layer, override: Layer) -> Layer:
    """Return the connection's settings, without its login where the connector gives one for other brokers.

    Raises KafkaMisconfigured where it gives none: the connection's is not for them.
    """
    own, above = _translated(connection), _translated(override)
    if not has_login(own):
        return connection
    below = over(_translated(worker), own)
    elsewhere = [*redirected(below, above), *other_brokers(below, above)]
    if not elsewhere:
        return connection
    if not gives_login(above):
        named = " and ".join(override.named(name) for name in elsewhere)
        msg = (
            f"{named} would let others than its brokers have the login of {connection.where}. {NOTHING_DONE}. Put the "
            "setting into the extra field of that connection, give a login beside it, or remove it"
        )
        raise KafkaMisconfigured(msg)
    return replace(connection, settings=without_login(connection.settings))


def _translated(layer: Layer) -> Conf:
    for key, value in layer.settings.items():
        if isinstance(value, dict | list):
            msg = (
                f"{layer.where}: the value of {key!r} must be a text, a number or a boolean, not {type(value).__name__}"
            )
            raise KafkaMisconfigured(msg)
    found = translate(layer.settings, is_java=layer.is_java)
    for key, why in found.problems.items():
        msg = f"{layer.where}: {layer.spelled.get(key, key)}: {why}. {NOTHING_DONE}"
        raise KafkaMisconfigured(msg)
    return found.conf


# Java's key and trust stores as the PEM texts that librdkafka takes: read here, Spark's workers need no file.


_TRUST, _CERTIFICATE, _KEY, _KEY_PASSWORD = "ssl.ca.pem", "ssl.certificate.pem", "ssl.key.pem", "ssl.key.password"
_SETTINGS: Final = (_TRUST, _CERTIFICATE)


def with_texts(conf: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with the content of their stores. Raises KafkaMisconfigured."""
    made = dict(conf)
    trust, keys = (made.get(name) for name in _SETTINGS)
    try:
        if isinstance(trust, StoreFile):
            made[_TRUST] = trusted_certificates(trust)
        if isinstance(keys, StoreFile):
            found = identity(keys, str(made.pop(_KEY_PASSWORD, "")))
            made |= {_CERTIFICATE: found.certificates, _KEY: found.key}
            made |= {_KEY_PASSWORD: found.key_password} if found.key_password else {}
    except StoreUnusable as error:
        msg = f"{error}. Nothing was read or written"
        raise KafkaMisconfigured(msg) from None
    return made
