"""Moving positions: fence, look, decide, and send all of it at once or nothing. The broker is stood in for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from floe.exceptions import Terminal
from floe.kafka import transactions as module
from floe.kafka.exceptions import GroupInUse, PositionFull
from floe.kafka.transactions import ControlRecord, Move, move_positions
from floe.model.exceptions import Superseded
from floe.model.offsets import TopicPartition
from floe.model.positions import MAX_METADATA_LENGTH, PartitionBacklog, Position, PositionMetadata
from tests.support.tables.lake import CLUSTER, GROUP, ROUTE, TOPIC, TOPIC_ID, Lake

TP = TopicPartition(TOPIC, 0)
RECORD = ControlRecord(b"event", [])


def position(offset: int, tables: int = 0, tp: TopicPartition = TP) -> Position:
    backlogs = {f"rpc.table_{i:04d}": PartitionBacklog(offset - 1, ROUTE) for i in range(tables)}
    return Position(tp, offset, PositionMetadata("routing", 0, TOPIC_ID, CLUSTER, backlogs=backlogs).encode())


@dataclass
class Broker:
    """What is done to Kafka, in order."""

    found: Mapping[TopicPartition, Position] = field(default_factory=lambda: {TP: position(5)})
    members: bool = False
    done: list[Any] = field(default_factory=list)
    id: str = ""

    def connecting(self, _settings: object, transactional_id: str) -> "Broker":
        self.id = transactional_id
        return self

    def fence(self) -> None:
        self.done.append(("fence", self.id))

    def check_no_members(self, group_id: str) -> None:
        self.done.append(("members", group_id))
        if self.members:
            raise GroupInUse(group_id)

    def positions(self, _group_id: str, tps: object) -> Mapping[TopicPartition, Position]:
        self.done.append(("look", tps))
        return self.found

    def send(self, topic: str, key: str, records: object, positions: object, group_id: str) -> None:
        self.done.append(("send", topic, key, records, positions, group_id))


@pytest.fixture
def move(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Callable[..., bool]:
    """Move positions at a broker."""

    def make(broker: Broker, decide: Callable[..., Move | None]) -> bool:
        monkeypatch.setattr(module, "TransactionalProducer", SimpleNamespace(connecting=broker.connecting))
        monkeypatch.setattr(module, "Cluster", SimpleNamespace(of_control=lambda _: broker))
        return move_positions(lake.connector(), None, [TP], decide)  # type: ignore[arg-type]

    return make


def test_others_are_fenced_before_positions_are_read(
    move: Callable[..., bool],
) -> None:
    broker = Broker()
    seen: list[Any] = []

    def decide(found: Mapping[TopicPartition, Position]) -> Move:
        seen.append(found)
        return Move([RECORD], [position(9)])

    assert move(broker, decide)
    assert seen == [{TP: position(5)}]
    assert broker.done == [
        ("fence", "floe-pizzas-commit"),
        ("members", GROUP),
        ("look", [TP]),
        ("send", "control-iceberg", GROUP, [RECORD], [position(9)], GROUP),
    ]


def test_nothing_is_sent_when_nothing_is_left_to_do(move: Callable[..., bool]) -> None:
    broker = Broker()
    assert not move(broker, lambda _: None)
    assert [what for what, *_ in broker.done] == ["fence", "members", "look"]


def test_a_move_of_nothing_opens_no_transaction_but_is_one(move: Callable[..., bool]) -> None:
    broker = Broker()
    assert move(broker, lambda _: Move([], []))
    assert [what for what, *_ in broker.done] == ["fence", "members", "look"]


def test_a_group_in_use_is_not_even_looked_at(move: Callable[..., bool]) -> None:
    broker = Broker(members=True)
    with pytest.raises(GroupInUse):
        move(broker, lambda _: Move([RECORD], [position(9)]))
    assert broker.done[-1] == ("members", GROUP)


def test_what_the_decision_raises_sends_nothing(move: Callable[..., bool]) -> None:
    def decide(_: object) -> Move:
        raise Superseded

    broker = Broker()
    with pytest.raises(Superseded):
        move(broker, decide)
    assert broker.done[-1][0] == "look"


def test_backlogs_too_long_for_metadata_keep_all_positions(move: Callable[..., bool]) -> None:
    full = next(p for n in range(1000) if len((p := position(9, n)).metadata.encode()) > MAX_METADATA_LENGTH)
    other = position(7, tp=TopicPartition(TOPIC, 1))
    broker = Broker()
    with pytest.raises(PositionFull, match=rf"^{len(full.backlogs)} tables are behind on {TOPIC}-0\.") as caught:
        move(broker, lambda _: Move([RECORD], [other, full]))
    assert isinstance(caught.value, Terminal)
    assert "drop_backlog" in str(caught.value)
    assert broker.done[-1][0] == "look"
    fits = position(9, len(full.backlogs) - 1)
    assert move(broker, lambda _: Move([RECORD], [other, fits]))
    assert broker.done[-1][0] == "send"
