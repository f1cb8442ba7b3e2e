"""Client settings from three places: the worker file, the Airflow connection over it, the connector's own over both."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from floe.config.kafka.login import (
    gives_login,
    has_login,
    other_brokers,
    redirected,
    without_login,
)
from floe.config.kafka.names import BROKERS, gives_brokers, half_identity, over, without_cluster
from floe.config.kafka.tls import take_stores
from floe.config.kafka.translation import translate
from floe.config.kafka.worker_keys import WorkerClient, WorkerKeys
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.stores import with_texts

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
