"""Settled positions: what is refused and with which way out, and what each decision does."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from floe.exceptions import Terminal
from floe.model.decisions import Decisions, Rollback
from floe.model.exceptions import PlanRefused
from floe.model.positions import PartitionBacklog, Position
from floe.model.ranges import PartitionLog, TopicPartition
from floe.planning.losses import Loss, OffsetsLost
from floe.planning.start_policy import ResolvedDeadLetters, StartPolicy
from floe.planning.start_positions import resolve_start_positions
from tests.support.partitions import ROUTE, found, is_behind, log, position

P0 = TopicPartition("pizzas", 0)
FOREIGN = Position(P0, 17, "written by hand")

ALL_LOSSES = frozenset({"*"})
RECOVER = Decisions(recover=True)
ACCEPT_LOSS = Decisions(accept_loss=ALL_LOSSES)
ADOPT = Decisions(reset_topics=frozenset({"pizzas"}))
EVERYTHING = Decisions(True, ALL_LOSSES, frozenset({"*"}), frozenset("ab"), {"a": Rollback.REPLAY})


def start_policy(contained_ids: Callable[[str], frozenset[str] | None] = lambda _: None, **over: Any) -> StartPolicy:
    fields: dict[str, Any] = {
        "cluster_id": "C1",
        "owner": "",
        "offset_reset": "earliest",
        "routing": {"pizzas": "R", "drinks": "R"},
        "routes": {(table, topic): ROUTE for table in ("a", "b") for topic in ("pizzas", "drinks")},
    }
    return StartPolicy(**{**fields, "contained_ids": contained_ids, **over})


def settle(*positions: Position, logs: list[PartitionLog] | None = None, **how: Any) -> ResolvedDeadLetters:
    decisions = how.pop("decisions", None)
    return resolve_start_positions(logs or [log()], found(*positions), start_policy(**how), decisions)


def refused(match: str, *positions: Position, **how: Any) -> None:
    with pytest.raises(PlanRefused, match=match) as caught:
        settle(*positions, **how)
    assert isinstance(caught.value, Terminal)


# -- what carries on --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("decisions", [None, Decisions(), EVERYTHING])
def test_position_inside_log_continues_whatever_was_decided(decisions: Decisions | None) -> None:
    for offset in (0, 50, 100):
        assert settle(position(offset), decisions=decisions) == ResolvedDeadLetters((position(offset),))


def test_a_position_at_the_log_start_has_lost_nothing() -> None:
    assert settle(position(8), logs=[log(start=8)]) == ResolvedDeadLetters((position(8),))


def test_a_debt_inside_the_log_is_carried_on() -> None:
    behind = position(50, backlogs=is_behind(a=10, b=49))
    assert settle(behind, logs=[log(start=10)]) == ResolvedDeadLetters((behind,))


def test_a_debt_that_begins_at_the_position_is_none() -> None:
    behind = position(50, backlogs=is_behind(a=50, b=20))
    assert settle(behind) == ResolvedDeadLetters((position(50, backlogs=is_behind(b=20)),), replaced=(behind,))


def test_a_changed_routing_counts_from_the_position_on() -> None:
    before = position(40)
    assert settle(before, routing={"pizzas": "R2"}) == ResolvedDeadLetters(
        (position(40, routing="R2", since=40),), replaced=(before,)
    )


def test_positions_of_other_topics_are_ignored() -> None:
    assert settle(position(5), position(9, topic="elsewhere")) == ResolvedDeadLetters((position(5),))


# -- partitions without a position ------------------------------------------------------------------------------------


def test_added_partition_begins_at_log_start_whatever_reset_says() -> None:
    logs = [log(0), log(1, start=2)]
    settled = settle(position(5), logs=logs, contained_ids=lambda _: frozenset({"T1"}), offset_reset="latest")
    assert settled == ResolvedDeadLetters((position(5), position(2, 1, since=2)))


@pytest.mark.parametrize(("reset", "offset"), [("earliest", 7), ("latest", 100)])
@pytest.mark.parametrize("decisions", [None, EVERYTHING])
def test_new_connector_begins_at_reset_and_keeps_since(reset: str, offset: int, decisions: Decisions | None) -> None:
    settled = settle(logs=[log(start=7)], offset_reset=reset, decisions=decisions)
    assert settled == ResolvedDeadLetters((position(offset, since=offset),))


def test_tables_are_asked_only_for_topics_without_position_once() -> None:
    asked: list[str] = []

    def contained_ids(topic: str) -> None:
        asked.append(topic)

    settle(position(5), logs=[log(0), log(1), *(log(p, topic="drinks") for p in range(5))], contained_ids=contained_ids)
    assert asked == ["drinks"]


def test_ledgers_are_asked_for_copies_only_to_recover() -> None:
    def copies(_: PartitionLog) -> Position:
        raise AssertionError

    settle(logs=[log()], copies=copies)
    settle(position(5), logs=[log(0), log(1)], copies=copies)
    settle(position(5), copies=copies, decisions=RECOVER)


# -- recover ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [frozenset({"T1"}), frozenset({"T0", "T1"}), frozenset()])
def test_lost_positions_are_not_taken_for_a_new_connector(held: frozenset[str]) -> None:
    """Nor are those that went with their whole group, when nobody knows of which topics they were."""
    refused(r"topic 'pizzas' has a position, but a table.*positions were lost.*`recover`", contained_ids=lambda _: held)


@pytest.mark.parametrize("metadata", ["", "offset written by hand", '{"floe":2}'])
def test_a_position_that_somebody_else_wrote_is_refused(metadata: str) -> None:
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
    settled = settle(
        *positions,
        decisions=RECOVER,
        contained_ids=lambda _: frozenset({"T1"}),
        copies=lambda _: copy,
        logs=[log(start=9)],
    )
    assert settled == ResolvedDeadLetters(
        (copy,), replaced=positions, notes=("pizzas-0: recovered at 60, as the tables tell",)
    )


def test_a_copy_below_the_log_start_is_a_loss_to_accept() -> None:
    lost = {"contained_ids": lambda _: frozenset({"T1"}), "copies": lambda _: position(6), "logs": [log(start=9)]}
    refused(r"pizzas-0 lost the offsets \[6, 9\).*`accept_loss`", decisions=RECOVER, **lost)
    settled = settle(decisions=Decisions(recover=True, accept_loss=ALL_LOSSES), **lost)
    assert settled.positions == (position(9, since=9, lost=(6, 9)),)
    assert settled.notes[1] == "pizzas-0: the offsets [6, 9) (3) are lost, as was accepted"


def test_recovery_without_copy_begins_at_log_start() -> None:
    held = {"contained_ids": lambda _: frozenset({"T1"}), "logs": [log(start=9)], "offset_reset": "latest"}
    assert settle(decisions=RECOVER, **held).positions == (position(9, since=9),)
    assert settle(FOREIGN, decisions=RECOVER, **held) == ResolvedDeadLetters(
        (position(9, since=9),), replaced=(FOREIGN,)
    )


def test_a_copy_of_another_routing_counts_from_its_offset_on() -> None:
    """Else a ledger would close over offsets between, which were not read for its table."""
    copy = position(60, routing="R0", since=3)
    settled = settle(FOREIGN, decisions=RECOVER, copies=lambda _: copy)
    assert settled.positions == (position(60, since=60),)


def test_copy_past_shortened_log_needs_reset_topics_to_recover() -> None:
    """Else the ledgers would keep what the log gives out once more, and new records there be taken for held."""
    copy = position(60)
    past = {"contained_ids": lambda _: frozenset({"T1"}), "copies": lambda _: copy, "logs": [log(end=40)]}
    refused("position 60 of pizzas-0 is past its last stable offset 40", decisions=RECOVER, **past)
    settled = settle(decisions=Decisions(recover=True, reset_topics=frozenset({"pizzas"})), **past)
    assert settled.positions == (position(40, since=40),)
    assert settled.replaced == (copy,)


def test_one_lost_partition_of_several_is_put_back_too() -> None:
    settled = settle(position(5), logs=[log(0), log(1)], decisions=RECOVER, copies=lambda _: position(60, 1))
    assert settled.positions == (position(5), position(60, 1))


# -- accepted losses --------------------------------------------------------------------------------------------------


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
        settle(*positions, logs=logs)
    p1 = TopicPartition("pizzas", 1)
    assert caught.value.losses == (Loss(P0, 5, 8), Loss(p1, 5, 10), Loss(p1, 2, 10, "a"))


@pytest.mark.parametrize("accepted", ["pizzas-1", "drinks"])
def test_loss_that_is_not_accepted_is_refused_beside_one_that_is(accepted: str) -> None:
    decisions = Decisions(accept_loss=frozenset({accepted}))
    logs = [log(0, start=8), log(1, start=10), log(0, start=3, topic="drinks")]
    positions = position(5), position(5, 1), position(1, topic="drinks")
    with pytest.raises(OffsetsLost) as caught:
        settle(*positions, logs=logs, decisions=decisions)
    assert {str(loss.tp) for loss in caught.value.losses} == {"pizzas-0", "pizzas-1", "drinks-0"} - {
        "drinks-0" if accepted == "drinks" else accepted
    }


@pytest.mark.parametrize("accepted", [["pizzas"], ["pizzas-0", "pizzas-1"], ["*"]], ids=str)
def test_loss_is_accepted_by_topic_partition_or_all(accepted: list[str]) -> None:
    decisions = Decisions(accept_loss=frozenset(accepted))
    settled = settle(position(5), position(5, 1), logs=[log(0, start=8), log(1, start=10)], decisions=decisions)
    assert [p.offset for p in settled.positions] == [8, 10]
    assert len(settled.notes) == 2


def test_accepted_name_means_the_topic_before_a_partition() -> None:
    decisions = Decisions(accept_loss=frozenset({"pizzas-0"}))
    logs = [log(0, start=8), log(0, start=8, topic="pizzas-0")]
    with pytest.raises(OffsetsLost) as caught:
        settle(
            position(5),
            position(5, topic="pizzas-0"),
            logs=logs,
            decisions=decisions,
            routing=dict.fromkeys(("pizzas", "pizzas-0"), "R"),
        )
    assert caught.value.losses == (Loss(P0, 5, 8),)


def test_accepted_loss_is_kept_in_position_and_moves_since() -> None:
    before = position(5)
    settled = settle(before, logs=[log(start=8)], decisions=ACCEPT_LOSS)
    assert settled == ResolvedDeadLetters(
        (position(8, since=8, lost=(5, 8)),),
        replaced=(before,),
        notes=("pizzas-0: the offsets [5, 8) (3) are lost, as was accepted",),
    )


def test_a_loss_that_goes_on_is_one_loss() -> None:
    settled = settle(position(8, since=8, lost=(5, 8)), logs=[log(start=11)], decisions=ACCEPT_LOSS)
    assert settled.positions == (position(11, since=11, lost=(5, 11)),)


def test_a_second_loss_does_not_drop_the_first_from_the_books() -> None:
    before = position(20, since=8, lost=(5, 8))
    settled = settle(before, logs=[log(start=25)], decisions=ACCEPT_LOSS)
    assert settled.positions == (position(25, since=25, lost=[(5, 8), (20, 25)]),)


def test_loss_not_in_a_snapshot_yet_stays_in_position() -> None:
    before = position(8, since=8, lost=(5, 8))
    assert settle(before) == ResolvedDeadLetters((before,))


@pytest.mark.parametrize("offset", [20, 50])
def test_backlog_on_removed_records_is_a_loss_too(offset: int) -> None:
    behind = position(offset, backlogs=is_behind(a=10, b=25 if offset > 25 else 10))
    logs = [log(start=20)]
    refused(
        r"pizzas-0 lost the offsets \[10, 20\) of the backlog of table 'a' \(10\).*`accept_loss`", behind, logs=logs
    )
    settled = settle(behind, logs=logs, decisions=ACCEPT_LOSS)
    left = is_behind(a=20, b=25) if offset == 50 else {}
    assert settled.positions == (position(offset, since=20, backlogs=left),)
    assert (
        settled.notes[0] == "pizzas-0: the offsets [10, 20) of the backlog of table 'a' (10) are lost, as was accepted"
    )


def test_log_beginning_above_position_loses_backlogs_too() -> None:
    settled = settle(position(10, backlogs=is_behind(a=4)), logs=[log(start=20)], decisions=ACCEPT_LOSS)
    assert settled.positions == (position(20, since=20, lost=(10, 20)),)
    assert len(settled.notes) == 2


# -- another log ------------------------------------------------------------------------------------------------------


def test_another_incarnation_of_the_topic_is_refused() -> None:
    refused(
        r"topic 'pizzas' was re-created.*'T2'.*'T1'.*reset_topics=\[\"pizzas\"\]",
        position(5),
        logs=[log(topic_id="T2")],
        decisions=Decisions(recover=True, accept_loss=ALL_LOSSES, reset_topics=frozenset({"drinks"})),
    )


def test_topic_recreated_after_losing_positions_is_named_so() -> None:
    deleted: dict[str, Any] = {"contained_ids": lambda _: frozenset({"T0"}), "logs": [log(start=4)]}
    refused(r"'pizzas' was re-created: its id is 'T1', what was read belongs to 'T0'.*reset_topics=", **deleted)
    refused("was re-created", decisions=RECOVER, **deleted)
    settled = settle(decisions=ADOPT, offset_reset="latest", **deleted)
    assert settled.positions == (position(4, since=4),)
    assert settled.notes == ("pizzas-0: the new topic T1 is read from its log start 4",)


@pytest.mark.parametrize("reset_topics", ["pizzas", "*"])
def test_reset_topic_is_read_from_log_start_as_new_generation(reset_topics: str) -> None:
    before = position(50, backlogs=is_behind(a=10, b=20), lost=(2, 3))
    settled = settle(
        before, logs=[log(start=7, topic_id="T2")], decisions=Decisions(reset_topics=frozenset({reset_topics}))
    )
    assert settled.positions == (position(7, since=7, topic_id="T2"),)
    assert settled.replaced == (before,)
    (note,) = settled.notes
    assert "topic id T2 replaces T1, which was read up to 50" in note
    assert "the backlog of a, b is lost" in note


def test_reset_topic_starting_at_old_position_is_new_generation() -> None:
    settled = settle(position(7), logs=[log(start=7, topic_id="T2")], decisions=ADOPT)
    assert settled.positions == (position(7, since=7, topic_id="T2"),)


def test_a_position_past_the_log_is_refused() -> None:
    refused(
        r"position 101 of pizzas-2 is past its last stable offset 100.*reset_topics=\[\"pizzas\"\].*above 100 stays in them",
        position(101, 2),
        logs=[log(2)],
        decisions=Decisions(recover=True, accept_loss=ALL_LOSSES),
    )


def test_reset_shortened_log_continues_at_end_with_backlogs() -> None:
    before = position(50, backlogs=is_behind(a=10, b=45))
    settled = settle(before, logs=[log(end=40)], decisions=ADOPT)
    assert settled.positions == (position(40, since=40, backlogs=is_behind(a=10)),)
    assert settled.replaced == (before,)
    assert settled.notes == ("pizzas-0: the log ends at 40, below 50; it is read on from there",)


def test_another_cluster_is_refused() -> None:
    refused(
        r"position of pizzas-0 belongs to cluster 'C1'.*'C2'.*Kafka connection.*reset_topics=\[\"pizzas\"\]",
        position(5),
        cluster_id="C2",
        decisions=Decisions(recover=True, accept_loss=ALL_LOSSES),
    )


def test_reset_cluster_with_same_topic_continues_at_position() -> None:
    settled = settle(position(5, backlogs=is_behind(a=4)), cluster_id="C2", decisions=ADOPT)
    assert settled.positions == (position(5, cluster_id="C2", backlogs=is_behind(a=4)),)


def test_an_adopted_cluster_with_another_topic_begins_anew() -> None:
    settled = settle(position(5), logs=[log(start=1, topic_id="T9")], cluster_id="C2", decisions=ADOPT)
    assert settled.positions == (position(1, since=1, topic_id="T9", cluster_id="C2"),)


# -- vanished partitions ----------------------------------------------------------------------------------------------


def test_a_partition_that_vanished_is_refused() -> None:
    refused(r"partition pizzas-1 has a position \(9\).*fewer partitions.*reset_topics=", position(5), position(9, 1))


def test_vanished_partition_is_ignored_once_topic_is_reset() -> None:
    both = (position(5), position(9, 1))
    new = [log(topic_id="T2")]
    settled = settle(*both, logs=new, decisions=ADOPT)
    assert settled.positions == (position(0, since=0, topic_id="T2"),)
    assert settle(*settled.positions, both[1], logs=new) == ResolvedDeadLetters(settled.positions)


def test_vanished_partition_of_reset_generation_is_refused() -> None:
    new = [log(topic_id="T2")]
    refused("partition pizzas-1 has a position", position(5, topic_id="T2"), position(9, 1, topic_id="T2"), logs=new)
    foreign = Position(TopicPartition("pizzas", 1), 9, "")
    refused("partition pizzas-1 has a position", position(5, topic_id="T2"), foreign, logs=new)


# -- debts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("routes", "why"),
    [({("a", "pizzas"): "r2"}, "its routing was changed"), ({}, "the connector names it no longer")],
)
def test_a_debt_that_cannot_be_caught_up_is_refused(routes: Mapping[tuple[str, str], str], why: str) -> None:
    refused(
        rf"table 'a' is behind on pizzas-0 from 10 on, but {why}.*put the connector back.*drop_backlog=\[\"a\"\]",
        position(50, backlogs=is_behind(a=10)),
        routes=routes,
        decisions=Decisions(
            recover=True, accept_loss=ALL_LOSSES, reset_topics=frozenset({"*"}), drop_backlog=frozenset({"b"})
        ),
    )


@pytest.mark.parametrize("routes", [{("a", "pizzas"): ROUTE}, {("a", "pizzas"): "r2"}, {}])
def test_dropped_backlog_is_gone_and_since_moves_over_it(routes: Mapping[tuple[str, str], str]) -> None:
    behind = position(50, backlogs=is_behind(a=10))
    settled = settle(behind, routes=routes, decisions=Decisions(drop_backlog=frozenset({"a"})))
    assert settled == ResolvedDeadLetters(
        (position(50, since=50),),
        replaced=(behind,),
        notes=("pizzas-0: the backlog [10, 50) of table 'a' was dropped",),
    )


def test_forgiving_one_table_leaves_the_others_owing() -> None:
    settled = settle(position(50, backlogs=is_behind(a=10, b=20)), decisions=Decisions(drop_backlog=frozenset({"a"})))
    assert settled.positions == (position(50, since=50, backlogs=is_behind(b=20)),)


def test_a_forgiven_debt_needs_no_log() -> None:
    behind = position(50, backlogs=is_behind(a=10))
    settled = settle(behind, logs=[log(start=20)], decisions=Decisions(drop_backlog=frozenset({"a"})))
    assert settled.positions == (position(50, since=50),)


def test_what_was_rolled_back_becomes_a_debt() -> None:
    before = position(50)
    settled = settle(before, reopened={P0: {"a": 20}})
    assert settled == ResolvedDeadLetters(
        (position(50, backlogs=is_behind(a=20)),),
        replaced=(before,),
        notes=("pizzas-0: table 'a' was rolled back and is behind from 20 on",),
    )


@pytest.mark.parametrize(("start", "backlog"), [(20, 20), (40, 30)])
def test_a_debt_that_is_reopened_begins_at_the_lower_offset(start: int, backlog: int) -> None:
    settled = settle(position(50, backlogs=is_behind(a=30, b=5)), reopened={P0: {"a": start}})
    assert settled.positions == (position(50, backlogs=is_behind(a=backlog, b=5)),)


def test_rolled_back_offsets_above_position_are_read_anyway() -> None:
    assert settle(position(50), reopened={P0: {"a": 50}}).positions == (position(50),)


def test_what_was_rolled_back_and_removed_by_retention_is_a_loss() -> None:
    removed: dict[str, Any] = {"reopened": {P0: {"a": 20}}, "logs": [log(start=30)]}
    refused(r"lost the offsets \[20, 30\) of the backlog of table 'a'", position(50), **removed)
    settled = settle(position(50), decisions=ACCEPT_LOSS, **removed)
    assert settled.positions == (position(50, since=30, backlogs=is_behind(a=30)),)


def test_a_debt_keeps_the_routing_under_which_it_arose() -> None:
    """The connector got another table: the debt's own route is the same, only the position's routing is not."""
    settled = settle(position(50, backlogs=is_behind(a=10)), routing={"pizzas": "R2"})
    assert settled.positions == (position(50, routing="R2", since=50, backlogs={"a": PartitionBacklog(10, ROUTE)}),)
