"""Offsets that retention removed: refused, or accepted and recorded."""

import pytest

from floe.model.decisions import Decisions
from floe.model.offsets import TopicPartition
from floe.planning.start_positions import Loss, OffsetsLost
from floe.planning.wanted_offsets import ResolvedPositions
from tests.support.partitions import is_behind, log, position
from tests.support.runs.start_positions import ACCEPT_LOSS, P0, refused, resolve


def test_offsets_that_retention_removed_are_refused_by_number() -> None:
    refused(
        r"pizzas-1 lost the offsets \[5, 8\).*floe.on-data-loss = fail.*Restore them.*`accept_loss`",
        position(5, 1),
        logs=[log(1, start=8)],
        decisions=Decisions(recover=True, reset_topics=frozenset({"*"})),
    )


def test_every_lost_range_is_named_with_its_number_of_offsets() -> None:
    positions = position(5), position(5, 1, backlogs=is_behind(a=2)), position(90, 2)
    logs = [log(0, start=8), log(1, start=10), log(2, start=8)]
    with pytest.raises(
        OffsetsLost, match=r'pizzas-0 lost.*; pizzas-1 lost.*accept_loss=\["pizzas-0", "pizzas-1"\]'
    ) as caught:
        resolve(*positions, logs=logs)
    p1 = TopicPartition("pizzas", 1)
    assert caught.value.losses == (Loss(P0, 5, 8), Loss(p1, 5, 10), Loss(p1, 2, 10, "a"))


@pytest.mark.parametrize("accepted", ["pizzas-1", "drinks"])
def test_loss_that_is_not_accepted_is_refused_beside_one_that_is(accepted: str) -> None:
    decisions = Decisions(accept_loss=frozenset({accepted}))
    logs = [log(0, start=8), log(1, start=10), log(0, start=3, topic="drinks")]
    positions = position(5), position(5, 1), position(1, topic="drinks")
    with pytest.raises(OffsetsLost) as caught:
        resolve(*positions, logs=logs, decisions=decisions)
    assert {str(loss.tp) for loss in caught.value.losses} == {"pizzas-0", "pizzas-1", "drinks-0"} - {
        "drinks-0" if accepted == "drinks" else accepted
    }


@pytest.mark.parametrize("accepted", [["pizzas"], ["pizzas-0", "pizzas-1"], ["*"]], ids=str)
def test_loss_is_accepted_by_topic_partition_or_all(accepted: list[str]) -> None:
    decisions = Decisions(accept_loss=frozenset(accepted))
    resolved = resolve(position(5), position(5, 1), logs=[log(0, start=8), log(1, start=10)], decisions=decisions)
    assert [p.offset for p in resolved.positions] == [8, 10]
    assert len(resolved.notes) == 2


def test_accepted_name_means_the_topic_before_a_partition() -> None:
    decisions = Decisions(accept_loss=frozenset({"pizzas-0"}))
    logs = [log(0, start=8), log(0, start=8, topic="pizzas-0")]
    with pytest.raises(OffsetsLost) as caught:
        resolve(
            position(5),
            position(5, topic="pizzas-0"),
            logs=logs,
            decisions=decisions,
            routing=dict.fromkeys(("pizzas", "pizzas-0"), "R"),
        )
    assert caught.value.losses == (Loss(P0, 5, 8),)


def test_accepted_loss_is_kept_in_position_and_moves_since() -> None:
    before = position(5)
    resolved = resolve(before, logs=[log(start=8)], decisions=ACCEPT_LOSS)
    assert resolved == ResolvedPositions(
        (position(8, since=8, lost=(5, 8)),),
        replaced=(before,),
        notes=("pizzas-0: the offsets [5, 8) (3) are lost; the loss was accepted",),
    )


def test_a_loss_that_goes_on_is_one_loss() -> None:
    resolved = resolve(position(8, since=8, lost=(5, 8)), logs=[log(start=11)], decisions=ACCEPT_LOSS)
    assert resolved.positions == (position(11, since=11, lost=(5, 11)),)


def test_a_second_loss_does_not_drop_the_first_from_the_books() -> None:
    before = position(20, since=8, lost=(5, 8))
    resolved = resolve(before, logs=[log(start=25)], decisions=ACCEPT_LOSS)
    assert resolved.positions == (position(25, since=25, lost=[(5, 8), (20, 25)]),)


def test_loss_not_in_a_snapshot_yet_stays_in_position() -> None:
    before = position(8, since=8, lost=(5, 8))
    assert resolve(before) == ResolvedPositions((before,))


@pytest.mark.parametrize("offset", [20, 50])
def test_backlog_on_removed_records_is_a_loss_too(offset: int) -> None:
    behind = position(offset, backlogs=is_behind(a=10, b=25 if offset > 25 else 10))
    logs = [log(start=20)]
    refused(
        r"pizzas-0 lost the offsets \[10, 20\) of the backlog of table 'a' \(10\).*`accept_loss`", behind, logs=logs
    )
    resolved = resolve(behind, logs=logs, decisions=ACCEPT_LOSS)
    left = is_behind(a=20, b=25) if offset == 50 else {}
    assert resolved.positions == (position(offset, since=20, backlogs=left),)
    assert (
        resolved.notes[0]
        == "pizzas-0: the offsets [10, 20) of the backlog of table 'a' (10) are lost; the loss was accepted"
    )


def test_log_beginning_above_position_loses_backlogs_too() -> None:
    resolved = resolve(position(10, backlogs=is_behind(a=4)), logs=[log(start=20)], decisions=ACCEPT_LOSS)
    assert resolved.positions == (position(20, since=20, lost=(10, 20)),)
    assert len(resolved.notes) == 2
