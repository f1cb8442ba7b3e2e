"""The client settings in a Connect worker's file, by the client of floe's that takes them.

As in Connect: the sink's own clients, those of the control topic, take the worker's keys without a prefix; the consumers of
sink connectors take ``consumer.*``, and of the keys without a prefix the brokers alone. Beyond Connect, which would connect
without a login, floe's take the security of the keys without a prefix too, where ``consumer.*`` has neither brokers nor
security.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.kafka.client_keys import BROKERS, gives_brokers, is_security
from floe.config.kafka.translation import RENAMED, SYSTEMS_SIZE, TRANSLATED, WITHOUT_EFFECT
from floe.config.libraries.client_settings import CLIENT_NAMES, unusable_client_values
from floe.config.properties import Properties
from floe.config.worker_defaults import OFFSET_RESET
from floe.config.worker_file import NO_FILE, WorkerFile

CONSUMER_PREFIX: Final = "consumer."

_OWN: Final = "floe sets it by itself"
_PRODUCER: Final = "floe's producers are transactional, with limits of their own"
_NO_GROUP: Final = "floe's clients join no group"
_NOT_READ: Final[Mapping[str, str]] = {
    **dict.fromkeys(
        ("acks", "request.required.acks", "enable.idempotence", "isolation.level", "transactional.id"), _OWN
    ),
    **dict.fromkeys(("enable.auto.commit", "enable.auto.offset.store", "transaction.timeout.ms", "check.crcs"), _OWN),
    **dict.fromkeys(
        ("group.instance.id", "group.protocol", "group.remote.assignor", "heartbeat.interval.ms"), _NO_GROUP
    ),
    **dict.fromkeys(("group.id", "max.poll.interval.ms", "partition.assignment.strategy"), _NO_GROUP),
    **dict.fromkeys(("auto.commit.interval.ms", "session.timeout.ms"), _NO_GROUP),
    **dict.fromkeys(("delivery.timeout.ms", "message.timeout.ms", "retries", "message.send.max.retries"), _PRODUCER),
    **dict.fromkeys(("max.in.flight", "max.in.flight.requests.per.connection"), _PRODUCER),
    "auto.offset.reset": "floe's clients are given their offsets",
    "ssl.cipher.suites": "its names are Java's: OpenSSL's own choice is used",
    "ssl.client.auth": "it is of the worker's REST server",
}


@dataclass(frozen=True)
class WorkerClient:
    """What one client takes: ``settings`` by their names without prefix, ``spelled``: those names as the file has them."""

    settings: Properties = Properties()  # noqa: RUF009 - immutable
    spelled: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WorkerKeys:
    """The client settings of a worker file. ``control``: for the clients of the control topic and of the group's positions.

    ``source``: for those of the topics that are read. ``without_effect``: other client settings, as the file spells them,
    with the reasons.
    """

    control: WorkerClient = WorkerClient()
    source: WorkerClient = WorkerClient()
    without_effect: Mapping[str, str] = field(default_factory=dict)
    named: str = NO_FILE.named

    @classmethod
    def of(cls, worker: WorkerFile) -> WorkerKeys:
        """Pick the client settings of a file."""
        unused: dict[str, str] = {}
        top = _read("", {name: value for name, value in worker.keys.items() if _is_client(name)}, unused)
        own = _read(CONSUMER_PREFIX, worker.keys.under(CONSUMER_PREFIX), unused)
        shared = _shared(top, own)
        spelled = dict.fromkeys(shared, "") | dict.fromkeys(own, CONSUMER_PREFIX)
        source = WorkerClient(Properties({**shared, **own}), {name: prefix + name for name, prefix in spelled.items()})
        return cls(WorkerClient(Properties(top), {name: name for name in top}), source, unused, worker.named)

    @property
    def has_brokers(self) -> bool:
        """Whether the file says where some client finds its brokers."""
        return gives_brokers(self.control.settings) or gives_brokers(self.source.settings)


def _is_client(name: str) -> bool:
    """Whether a key without a prefix is about Kafka's clients; others are the worker's own."""
    is_known = name in CLIENT_NAMES or name in TRANSLATED or name in WITHOUT_EFFECT or name in _NOT_READ
    return is_known or is_security(name)


def _read(prefix: str, given: Mapping[str, str], unused: dict[str, str]) -> dict[str, str]:
    """Return the settings that a client takes; the others are noted with the reason."""
    taken: dict[str, str] = {}
    for name, value in given.items():
        why = _reason(name, value)
        if why is None:
            taken[name] = value
        elif prefix + name != OFFSET_RESET:  # it is a default of connectors
            unused[prefix + name] = why
    return taken


def _reason(name: str, value: str) -> str | None:
    """Return why a setting has no effect; None where a client takes it."""
    why = _NOT_READ.get(name) or WITHOUT_EFFECT.get(name)
    if why is not None or name in TRANSLATED - RENAMED.keys():
        return why
    if name == "connections.max.idle.ms" and value.strip() == "-1":
        return "librdkafka closes no idle connection by itself"
    own = RENAMED.get(name, name)
    if own not in CLIENT_NAMES:
        return "librdkafka has no such setting"
    if name in SYSTEMS_SIZE and value == "-1":
        return None
    problem = next(unusable_client_values("", {own: value}), None)
    return problem.rpartition(": ")[2] if problem else None


def _shared(top: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return what the consumer takes of the keys without prefix, beside its own ones."""
    if gives_brokers(own):
        return {}
    has_security = any(is_security(name) for name in own)
    return {name: value for name, value in top.items() if name in BROKERS or (is_security(name) and not has_security)}
