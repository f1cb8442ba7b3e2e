"""A TCP proxy in front of a broker: it delays, resets, swallows, and loses the answer to a request that was carried out.

Kafka's clients go where the broker says it is, so the broker needs a listener of its own that advertises the proxy:
see ``listeners``.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from enum import IntEnum

from stack.settings import LOOPBACK


class Api(IntEnum):
    """The requests whose answers tests lose."""

    PRODUCE = 0
    FETCH = 1
    OFFSET_FETCH = 9
    INIT_PRODUCER_ID = 22
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28


def listeners(port: int, controller_port: int, behind: int, proxy: int) -> dict[str, str]:
    """Return the server properties of a broker that clients reach directly at ``port``, and by the proxy at ``behind``."""
    return {
        "listeners": f"PLAINTEXT://{LOOPBACK}:{port},CONTROLLER://{LOOPBACK}:{controller_port},"
        f"PROXIED://{LOOPBACK}:{behind}",
        "advertised.listeners": f"PLAINTEXT://{LOOPBACK}:{port},PROXIED://{LOOPBACK}:{proxy}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,PROXIED:PLAINTEXT",
    }


class KafkaProxy:
    """Forwards connections on ``port`` to the broker's port ``behind``, unless it is set to do otherwise."""

    def __init__(self, port: int, behind: int) -> None:
        self.port = port
        self.delay = 0.0
        """Seconds that each answer is held back."""
        self.is_blackhole = False
        """Whether what is sent disappears, in both directions."""
        self.on_answer: Callable[[int, int], None] | None = None
        """Called with a request's kind and the client's port when the broker has answered it, before the client hears."""
        self.on_frame: Callable[[int, bytes], bytes] | None = None
        """Called with a request's kind and its answer, whole; returns what the client gets instead."""
        self.faults: Counter[str] = Counter()
        self._behind = behind
        self._loses: Counter[int] = Counter()
        self._pairs: list[_Pair] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server((LOOPBACK, port))
        self._thread = threading.Thread(target=self._accept, name="kafka proxy", daemon=True)
        self._thread.start()

    @property
    def bootstrap(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    def lose_answer(self, api: Api, times: int = 1) -> None:
        """Have the broker carry out the next requests of a kind and end the connection instead of answering."""
        with self._lock:
            self._loses[api] += times

    def clear(self) -> None:
        """Forget the answers that are still to be lost."""
        with self._lock:
            self._loses.clear()

    def reset(self) -> None:
        """End all connections now, by RST."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for pair in pairs:
            pair.reset()
        self.faults["all of Kafka's connections reset"] += 1

    def close(self) -> None:
        """End the proxy."""
        # a thread that waits in accept is woken by shutdown, not by close
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for pair in self._pairs:
            pair.reset()
        self._thread.join(5)

    def is_lost(self, api: int) -> bool:
        """Say whether the answer to this request is to be lost, and count it."""
        with self._lock:
            if self._loses[api] <= 0:
                return False
            self._loses[api] -= 1
            self.faults[f"answer to {Api(api).name} lost"] += 1
            return True

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                broker = socket.create_connection((LOOPBACK, self._behind), timeout=10)
            except OSError:
                client.close()
                continue
            broker.settimeout(None)
            pair = _Pair(self, client, broker)
            with self._lock:
                self._pairs = [*(one for one in self._pairs if not one.is_over), pair]
            pair.start()


class _Pair:
    """One connection of a client and its counterpart to the broker."""

    def __init__(self, proxy: KafkaProxy, client: socket.socket, broker: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._broker = broker
        self._lost: set[int] = set()
        self._asked: dict[int, int] = {}
        self._port: int = client.getpeername()[1]
        self.is_over = False

    def start(self) -> None:
        for target in (self._requests, self._answers):
            threading.Thread(target=target, daemon=True).start()

    def reset(self) -> None:
        """Close both sides; the client's at once, so that it sees a reset."""
        self.is_over = True
        for one in (self._client, self._broker):
            with suppress(OSError):
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            with suppress(OSError):
                one.close()

    def _requests(self) -> None:
        with suppress(OSError):
            while frame := _frame(self._client):
                api, _, correlation = struct.unpack(">hhi", frame[4:12])
                self._asked[correlation] = api
                if self._proxy.is_lost(api):
                    self._lost.add(correlation)
                if not self._proxy.is_blackhole:
                    self._broker.sendall(frame)
        self.reset()

    def _answers(self) -> None:
        with suppress(OSError):
            while frame := _frame(self._broker):
                (correlation,) = struct.unpack(">i", frame[4:8])
                api = self._asked.pop(correlation, -1)
                if self._proxy.on_answer is not None:
                    self._proxy.on_answer(api, self._port)
                if correlation in self._lost:
                    break
                if self._proxy.delay:
                    threading.Event().wait(self._proxy.delay)
                if self._proxy.on_frame is not None:
                    frame = self._proxy.on_frame(api, frame)
                if not self._proxy.is_blackhole:
                    self._client.sendall(frame)
        self.reset()


def _frame(source: socket.socket) -> bytes:
    """Read one message with its length before it; nothing at the end, or of a message that is cut."""
    head = _exactly(source, 4)
    rest = _exactly(source, struct.unpack(">i", head)[0]) if head else b""
    return head + rest if rest else b""


def _exactly(source: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = source.recv(size - len(data))
        if not chunk:
            return b""
        data += chunk
    return bytes(data)
