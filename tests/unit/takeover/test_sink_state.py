"""Positions of a stopped sink: which count, and which cannot be taken over."""

from __future__ import annotations

import pytest

from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import Position, PositionMetadata
from floe.takeover.exceptions import TakeoverBlocked, TakeoverRefused
from floe.takeover.sink_state import check_possible, effective_positions

TP = TopicPartition("pizzas", 0)
LOGS = [PartitionLog(TP, "T1", 0, 100)]
FLOES = PositionMetadata(routing="r", since=0, topic_id="T1", cluster_id="C1").encode()


def at(offset: int, metadata: str = "") -> dict[TopicPartition, Position]:
    return {TP: Position(TP, offset, metadata)}


@pytest.mark.parametrize("offset", [0, 99, 100])
def test_a_position_inside_the_log_is_taken(offset: int) -> None:
    check_possible(at(offset), LOGS, {TP: 100})


def test_position_past_log_end_is_refused_with_the_command() -> None:
    with pytest.raises(
        TakeoverRefused, match=r"101 of pizzas-0 is past the log's end 100.*--reset-offsets --topic pizzas:0"
    ):
        check_possible(at(101), LOGS, {TP: 100})


def test_a_position_in_an_open_transaction_has_to_wait() -> None:
    with pytest.raises(TakeoverBlocked, match="open from 100 on"):
        check_possible(at(105), LOGS, {TP: 110})


def test_a_position_of_a_partition_that_is_gone_is_refused() -> None:
    with pytest.raises(TakeoverRefused, match=r"pizzas-0 \(5\).*re-created with fewer"):
        check_possible(at(5), [], {})


@pytest.mark.parametrize(
    ("own", "tabular", "offset"),
    [
        pytest.param(at(90), at(100), 100, id="its second transaction is missing"),
        pytest.param(at(100), at(90), 90, id="its own group was set back"),
        pytest.param(at(100), {}, 100, id="its own group lost the position"),
        pytest.param({}, at(100), 100, id="only its own group has it"),
        pytest.param(at(150, FLOES), at(100), 150, id="floe went on"),
        pytest.param(at(100, FLOES), at(130), 130, id="it went on after floe"),
    ],
)
def test_tabular_s_own_group_counts_unless_floe_went_on_from_it(
    own: dict[TopicPartition, Position], tabular: dict[TopicPartition, Position], offset: int
) -> None:
    assert effective_positions(own, tabular)[TP].offset == offset


def test_sink_with_one_group_has_its_positions_as_they_are() -> None:
    assert effective_positions(at(5), at(5)) == at(5)
