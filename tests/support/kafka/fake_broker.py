"""What plan and commit see of Kafka, stood in for: logs, positions, and what moved them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from floe.commit import run_commit
from floe.control.headers import MAC
from floe.control.wire.codec import decode
from floe.kafka.admin import Readable
from floe.kafka.transactions import ControlRecord, Move
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import Position
from floe.planning import dropped_tables, live_plan
from floe.tables import connector_ledgers
from floe.tables import lake as tables_lake
from tests.support.tables.lake import CLUSTER, TABLE, TOPIC, TOPIC_ID, Lake, Row


class Moved(NamedTuple):
    """One transaction, with the rows of the first table at that moment."""

    positions: list[Position]
    events: list[Any]
    headers: list[dict[str, str]]
    rows: list[Row]

    @property
    def offsets(self) -> list[int]:
        return [p.offset for p in self.positions]


def headers_of(record: ControlRecord) -> dict[str, str]:
    """Return a record's headers but for its signature, which every record has."""
    headers = {name: str(value) for name, value in record.headers}
    assert headers.pop(MAC)
    return headers


@dataclass
class Broker:
    """A cluster with one topic; its group has no members."""

    lake: Lake
    found: dict[TopicPartition, Position] = field(default_factory=dict)
    partitions: list[PartitionLog] = field(default_factory=list)
    id: str = CLUSTER
    filled: dict[str, UUID] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    moves: list[Moved] = field(default_factory=list)

    def readable(self, _names: Iterable[str]) -> Readable:
        """Return no topic that may not be read."""
        return Readable({}, set())

    def log(self, partition: int = 0, start: int = 0, end: int = 100, topic_id: str = TOPIC_ID) -> "Broker":
        """Give a partition another log."""
        log = PartitionLog(TopicPartition(TOPIC, partition), topic_id, start, end)
        self.partitions = [*(known for known in self.partitions if known.tp != log.tp), log]
        return self

    def has(self, *positions: Position) -> "Broker":
        self.found |= {p.tp: p for p in positions}
        return self

    # -- what plan and commit ask -------------------------------------------------------------------------------------

    def cluster_id(self) -> str:
        return self.id

    def ensure_control_topic(self, name: str) -> None:
        self.done.append(f"ensure {name}")

    def topics(self, names: Sequence[str]) -> dict[str, None]:
        return dict.fromkeys(names)

    def check_no_members(self, _group_id: str) -> None:
        self.done.append("refuse members")

    def logs(self, _topics: Iterable[str], _described: object = None) -> list[PartitionLog]:
        return self.partitions

    def offsets_at(self, tps: Iterable[TopicPartition], _moment: int) -> dict[TopicPartition, int | None]:
        """Return where records of a time begin: past the last one."""
        return dict.fromkeys(tps)

    def positions(self, _group_id: str, tps: Sequence[TopicPartition] | None = None) -> dict[TopicPartition, Position]:
        return {tp: p for tp, p in self.found.items() if tps is None or tp in tps}

    def move(
        self,
        _connector: object,
        _settings: object,
        tps: Sequence[TopicPartition],
        decide: Callable[[Mapping[TopicPartition, Position]], Move | None],
        _producer: object = None,
    ) -> bool:
        wanted = decide(self.positions("", tps))
        if wanted is None:
            return False
        self.done.append("move")
        rows = self.lake.rows() if self.lake.catalog().table_exists(TABLE) else []
        events = [decode(r.value).payload for r in wanted.records]
        headers = [headers_of(record) for record in wanted.records]
        self.moves.append(Moved(list(wanted.positions), events, headers, rows))
        self.has(*wanted.positions)
        return True

    def fence(self) -> None:
        """No other producer is open here."""

    def send(self, _topic: str, _key: str, records: Sequence[Any]) -> None:
        """Take a replay's events."""
        self.done.append("send")
        headers = [headers_of(record) for record in records]
        self.moves.append(Moved([], [decode(r.value).payload for r in records], headers, self.lake.rows()))

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let plan and commit meet this broker and the lake."""
        clusters = SimpleNamespace(of_control=lambda _: self, of_source=lambda _: self)
        for module in (live_plan, run_commit):
            monkeypatch.setattr(module, "Cluster", clusters)
            monkeypatch.setattr(module, "move_positions", self.move)
            monkeypatch.setattr(module, "control_ends", lambda *_: {0: 3})
        monkeypatch.setattr(run_commit, "TransactionalProducer", SimpleNamespace(open=lambda *_: self))
        monkeypatch.setattr(run_commit, "writer_of_positions", lambda *_: self)
        monkeypatch.setattr(dropped_tables, "control_ends", lambda *_: {0: 3})
        monkeypatch.setattr(dropped_tables, "filled_tables", lambda *_: self.filled)
        for module in (tables_lake, connector_ledgers):
            monkeypatch.setattr(module, "CatalogClient", SimpleNamespace(of=lambda _: self.lake.tables()))
