"""Admin clients, one for each set of settings in a task: each has threads, connections and a handshake of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import confluent_kafka as ck
from confluent_kafka.admin import AdminClient

from floe.kafka.client_log import ClientLog
from floe.kafka.exceptions import KafkaMisconfigured
from floe.kafka.tokens import with_tokens


class OpenedClient(NamedTuple):
    """A client with its log."""

    client: AdminClient
    log: ClientLog


class _Shared:
    """The clients of the task that runs in this process; outside of one, nothing is kept."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.clients: list[tuple[dict[str, Any], OpenedClient]] = []


_shared = _Shared()


@contextmanager
def shared_clients() -> Iterator[None]:
    """Within it, what is opened with the same settings is one client; after the last one who shares, it is forgotten."""
    with _shared.lock:
        _shared.users += 1
    try:
        yield
    finally:
        with _shared.lock:
            _shared.users -= 1
            if not _shared.users:
                _shared.clients.clear()


def open_client(conf: Mapping[str, Any], origin: str) -> OpenedClient:
    """Open a client, or return the one that is shared; it connects when it is first asked. Raises KafkaMisconfigured."""
    with _shared.lock:
        if not _shared.users:
            return _opened(conf, origin)
        for settings, one in _shared.clients:
            if settings == conf:
                return one
        made = _opened(conf, origin)
        _shared.clients.append((dict(conf), made))
        return made


def _opened(conf: Mapping[str, Any], origin: str) -> OpenedClient:
    client_log = ClientLog()
    try:
        # a request for a topic's metadata does not create it
        own = {"logger": client_log, "allow.auto.create.topics": False}
        return OpenedClient(AdminClient(with_tokens(conf) | own), client_log)
    except ck.KafkaException as error:
        msg = f"{origin} is not usable: {error.args[0].str()}"
        raise KafkaMisconfigured(msg) from error
