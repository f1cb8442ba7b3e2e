"""Where partitions continue or begin: offsets that are there, missing, or recovered."""

import pytest

from floe.model.decisions import Decisions, Rollback
from floe.model.offsets import PartitionLog, TopicPartition
from floe.model.positions import Position
from floe.planning.wanted_offsets import ResolvedPositions
from tests.support.partitions import is_behind, log, position
from tests.support.runs.start_positions import ALL_LOSSES, P0, RECOVER, refused, resolve

FOREIGN = Position(P0, 17, "written by hand")


EVERYTHING = Decisions(True, ALL_LOSSES, frozenset({"*"}), frozenset("ab"), {"a": Rollback.REPLAY})


@pytest.mark.parametrize("decisions", [None, Decisions(), EVERYTHING])
def test_position_inside_log_continues_whatever_was_decided(decisions: Decisions | None) -> None:
    for offset in (0, 50, 100):
        assert resolve(position(offset), decisions=decisions) == ResolvedPositions((position(offset),))


def test_a_position_at_the_log_start_has_lost_nothing() -> None:
    assert resolve(position(8), logs=[log(start=8)]) == ResolvedPositions((position(8),))


def test_a_debt_inside_the_log_is_carried_on() -> None:
    behind = position(50, backlogs=is_behind(a=10, b=49))
    assert resolve(behind, logs=[log(start=10)]) == ResolvedPositions((behind,))


def test_a_debt_that_begins_at_the_position_is_none() -> None:
    behind = position(50, backlogs=is_behind(a=50, b=20))
    assert resolve(behind) == ResolvedPositions((position(50, backlogs=is_behind(b=20)),), replaced=(behind,))


def test_a_changed_routing_counts_from_the_position_on() -> None:
    before = position(40)
    assert resolve(before, routing={"pizzas": "R2"}) == ResolvedPositions(
        (position(40, routing="R2", since=40),), replaced=(before,)
    )


def test_positions_of_other_topics_are_ignored() -> None:
    assert resolve(position(5), position(9, topic="elsewhere")) == ResolvedPositions((position(5),))


def test_added_partition_begins_at_log_start_whatever_reset_says() -> None:
    logs = [log(0), log(1, start=2)]
    resolved = resolve(position(5), logs=logs, contained_ids=lambda _: frozenset({"T1"}), offset_reset="latest")
    assert resolved == ResolvedPositions((position(5), position(2, 1, since=2)))


@pytest.mark.parametrize(("reset", "offset"), [("earliest", 7), ("latest", 100)])
@pytest.mark.parametrize("decisions", [None, EVERYTHING])
def test_new_connector_begins_at_reset_and_keeps_since(reset: str, offset: int, decisions: Decisions | None) -> None:
    resolved = resolve(logs=[log(start=7)], offset_reset=reset, decisions=decisions)
    assert resolved == ResolvedPositions((position(offset, since=offset),))


def test_tables_are_asked_only_for_topics_without_position_once() -> None:
    asked: list[str] = []

    def contained_ids(topic: str) -> None:
        asked.append(topic)

    resolve(
        position(5), logs=[log(0), log(1), *(log(p, topic="drinks") for p in range(5))], contained_ids=contained_ids
    )
    assert asked == ["drinks"]


def test_ledgers_are_asked_for_copies_only_to_recover() -> None:
    def copies(_: PartitionLog) -> Position:
        raise AssertionError

    resolve(logs=[log()], copies=copies)
    resolve(position(5), logs=[log(0), log(1)], copies=copies)
    resolve(position(5), copies=copies, decisions=RECOVER)


@pytest.mark.parametrize("held", [frozenset({"T1"}), frozenset({"T0", "T1"}), frozenset()])
def test_lost_positions_are_not_taken_for_a_new_connector(held: frozenset[str]) -> None:
    """Nor are those that went with their whole group, when no table says of which topics they were."""
    refused(r"topic 'pizzas' has a position, but a table.*positions were lost.*`recover`", contained_ids=lambda _: held)


@pytest.mark.parametrize("metadata", ["", "offset written by hand", '{"floe":2}'])
def test_position_that_another_tool_wrote_is_refused(metadata: str) -> None:
    foreign = Position(TopicPartition("pizzas", 4), 17, metadata)
    refused(
        r"position 17 of pizzas-4 was not written by floe.*Stop it.*`recover`.*`takeover`",
        foreign,
        logs=[log(4)],
        decisions=Decisions(accept_loss=ALL_LOSSES, reset_topics=frozenset({"*"})),
    )


@pytest.mark.parametrize("positions", [(), (FOREIGN,)])
def test_recover_puts_the_copy_of_the_ledgers_back(positions: tuple[Position, ...]) -> None:
    copy = position(60, backlogs=is_behind(a=50))
    resolved = resolve(
        *positions,
        decisions=RECOVER,
        contained_ids=lambda _: frozenset({"T1"}),
        copies=lambda _: copy,
        logs=[log(start=9)],
    )
    assert resolved == ResolvedPositions(
        (copy,), replaced=positions, notes=("pizzas-0: recovered at 60 from the tables",)
    )


def test_a_copy_below_the_log_start_is_a_loss_to_accept() -> None:
    lost = {"contained_ids": lambda _: frozenset({"T1"}), "copies": lambda _: position(6), "logs": [log(start=9)]}
    refused(r"pizzas-0 lost the offsets \[6, 9\).*`accept_loss`", decisions=RECOVER, **lost)
    resolved = resolve(decisions=Decisions(recover=True, accept_loss=ALL_LOSSES), **lost)
    assert resolved.positions == (position(9, since=9, lost=(6, 9)),)
    assert resolved.notes[1] == "pizzas-0: the offsets [6, 9) (3) are lost; the loss was accepted"


def test_recovery_without_copy_begins_at_log_start() -> None:
    held = {"contained_ids": lambda _: frozenset({"T1"}), "logs": [log(start=9)], "offset_reset": "latest"}
    assert resolve(decisions=RECOVER, **held).positions == (position(9, since=9),)
    assert resolve(FOREIGN, decisions=RECOVER, **held) == ResolvedPositions(
        (position(9, since=9),), replaced=(FOREIGN,)
    )


def test_a_copy_of_another_routing_counts_from_its_offset_on() -> None:
    """Else a ledger would close over offsets between, which were not read for its table."""
    copy = position(60, routing="R0", since=3)
    resolved = resolve(FOREIGN, decisions=RECOVER, copies=lambda _: copy)
    assert resolved.positions == (position(60, since=60),)


def test_copy_past_shortened_log_needs_reset_topics_to_recover() -> None:
    """Else the ledgers would keep what the log gives out once more, and new records there be taken for held."""
    copy = position(60)
    past = {"contained_ids": lambda _: frozenset({"T1"}), "copies": lambda _: copy, "logs": [log(end=40)]}
    refused("position 60 of pizzas-0 is past its last stable offset 40", decisions=RECOVER, **past)
    resolved = resolve(decisions=Decisions(recover=True, reset_topics=frozenset({"pizzas"})), **past)
    assert resolved.positions == (position(40, since=40),)
    assert resolved.cuts == {P0: 40}


def test_one_lost_partition_of_several_is_put_back_too() -> None:
    resolved = resolve(position(5), logs=[log(0), log(1)], decisions=RECOVER, copies=lambda _: position(60, 1))
    assert resolved.positions == (position(5), position(60, 1))
