"""Ports for brokers that are killed and started again."""

from __future__ import annotations

import random
import socket

from stack.progress import wait_until
from stack.services.broker import Broker
from stack.settings import LOOPBACK

BELOW_EPHEMERAL = range(20_000, 32_000)


def lasting_port() -> int:
    """Return a free port that no outgoing connection is given.

    While a broker is down its clients knock at its port; at one of the ephemeral ports a client may meet itself and keep
    the port from the broker.
    """
    while True:
        port = random.choice(BELOW_EPHEMERAL)
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
        return port


def restart(broker: Broker) -> None:
    """Kill a broker and start it again on its data, once its port is free: a killed JVM holds it for a moment."""
    broker.kill()
    assert wait_until(lambda: _is_free(broker.port), 20), f"port {broker.port} is still held"
    broker.start()


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True
