"""Cases for the doctor: a connector, and brokers that answer as they are set to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any

from floe.config import parse_connector
from floe.doctor.check import About, Case, Finding
from floe.kafka.admin import Announced, Readable, TopicDescription
from floe.kafka.settings import KafkaSettings
from floe.model.offsets import TopicPartition
from floe.model.positions import Position
from stack.settings import LOOPBACK, free_port
from tests.support.connectors import MINIMAL

TOPIC, CONTROL = "completed-pizzas", "control-iceberg"
KEPT = {"cleanup.policy": "delete", "retention.ms": "604800000", "retention.bytes": "-1"}


@dataclass
class FakeCluster:
    """Answers of brokers. ``denied``: operations that an ACL forbids, by topic."""

    existing: Mapping[str, int] = field(default_factory=lambda: {TOPIC: 2, CONTROL: 1})
    configurations: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    denied: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    committed: Mapping[TopicPartition, Position] = field(default_factory=dict)
    is_allowed: bool = True
    newest: int = -1
    error: Exception | None = None

    def _answer(self) -> None:
        if self.error is not None:
            raise self.error

    def announced(self) -> Announced:
        self._answer()
        return Announced("C1", self.nodes)

    def topic_names(self) -> list[str]:
        return list(self.existing)

    def topics(self, names: Iterable[str]) -> dict[str, TopicDescription]:
        self._answer()
        found = {name: self.existing[name] for name in names if name in self.existing}
        return {name: TopicDescription("T1", tuple(range(many))) for name, many in found.items()}

    def configuration(self, name: str) -> Mapping[str, str]:
        found = self.configurations.get(name, KEPT)
        if isinstance(found, Exception):
            raise found
        return found

    def readable(self, names: Iterable[str]) -> Readable:
        wanted = list(names)
        return Readable(self.topics(wanted), {name for name in wanted if "READ" in self.denied.get(name, "")})

    def without_right(self, names: Iterable[str], operation: Any) -> set[str]:
        return {name for name in names if operation.name in self.denied.get(name, "")}

    def log_starts(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(tps, 0)

    def stable_ends(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(tps, 0)

    def newest_timestamps(self, tps: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(tps, self.newest)

    def may_commit(self, _: str) -> bool:
        return self.is_allowed

    def check_no_members(self, _: str) -> None:
        self._answer()

    def positions(self, _: str) -> Mapping[TopicPartition, Position]:
        return self.committed


def case_of(cluster: FakeCluster | None = None, *, write: bool = True, servers: str = "b:9092", **keys: object) -> Case:
    """Make a case of the smallest connector with keys over it (None: without), on brokers that answer as they are set to."""
    given = {key: value for key, value in {**MINIMAL, **keys}.items() if value is not None}
    connector = parse_connector(given)
    case = Case(connector, KafkaSettings.of(connector, {"bootstrap.servers": servers}), write)
    case.source = case.control = cluster or FakeCluster()  # type: ignore[assignment]
    return case


def found(find: Any, case: Case) -> list[Finding]:
    """Run one check's function."""
    return list(find(case, About("check")))


def levels(findings: Iterable[Finding]) -> list[str]:
    """Return the levels of findings."""
    return [finding.level.value for finding in findings]


Reply = Callable[[bytes], bytes | None]
"""Makes an answer of what arrived; None ends the connection."""


def as_broker(request: bytes) -> bytes | None:
    """Answer with a size and the request's number, as brokers do; end what is no request of Kafka."""
    return b"\0\0\0\x04" + request[8:12] if request.startswith(b"\0\0") else None


@contextmanager
def listening(reply: Reply = as_broker) -> Iterator[int]:
    """Listen on a free port of this machine, as a broker or otherwise; an empty answer is none."""

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while (request := self.request.recv(1000)) and (answer := reply(request)) is not None:
                    self.request.sendall(answer)

    with ThreadingTCPServer((LOOPBACK, 0), Handler) as server:
        server.daemon_threads = True
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


def closed_port() -> int:
    """Return a port that nothing listens on."""
    return free_port()
