"""A TCP proxy in front of a Hive metastore: it loses the request, or the answer, of a method."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from stack.settings import LOOPBACK


class ThriftProxy:
    """Forwards connections to the metastore's port ``behind``, unless it is set to do otherwise."""

    def __init__(self, behind: int) -> None:
        self._behind = behind
        self._lost: list[tuple[str, bytes]] = []
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="thrift proxy", daemon=True).start()

    @property
    def uri(self) -> str:
        """The proxy's address."""
        return f"thrift://{LOOPBACK}:{self.port}"

    def lose_answer(self, method: str) -> None:
        """Let the next call of a method arrive, and lose what is answered."""
        self._lost.append(("answer", method.encode()))

    def lose_request(self, method: str) -> None:
        """Lose the next call of a method before it arrives."""
        self._lost.append(("request", method.encode()))

    def close(self) -> None:
        """Accept no more connections."""
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), socket.create_connection((LOOPBACK, self._behind)) as server:
            loses_answer = threading.Event()
            answers = threading.Thread(target=_answer, args=(server, client, loses_answer), daemon=True)
            answers.start()
            while data := client.recv(1 << 20):
                fault = self._fault_of(data)
                if fault == "request":
                    break
                if fault == "answer":
                    loses_answer.set()
                server.sendall(data)
                if fault == "answer":
                    answers.join(60)
                    break
            with suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)

    def _fault_of(self, data: bytes) -> str | None:
        """Return what happens to a call. A binary message begins with its version, kind and the method's name."""
        length = int.from_bytes(data[4:8], "big")
        method = data[8 : 8 + length] if data[:2] == b"\x80\x01" else b""
        found = next((one for one in self._lost if one[1] == method), None)
        if found is None:
            return None
        self._lost.remove(found)
        return found[0]


def _answer(server: socket.socket, client: socket.socket, loses_answer: threading.Event) -> None:
    with suppress(OSError):
        while data := server.recv(1 << 20):
            if loses_answer.is_set():
                return
            client.sendall(data)
