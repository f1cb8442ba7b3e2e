"""Topics and clusters that are not those of the offsets: refused, or reset."""

from dataclasses import replace
from typing import Any

import pytest

from floe.model.decisions import Decisions
from floe.model.offsets import TopicPartition
from floe.model.positions import LeaderEpoch, Position
from floe.planning.wanted_offsets import ResolvedPositions
from tests.support.partitions import is_behind, log, position
from tests.support.runs.start_positions import ALL_LOSSES, P0, RECOVER, refused, resolve

ADOPT = Decisions(reset_topics=frozenset({"pizzas"}))


def test_another_incarnation_of_the_topic_is_refused() -> None:
    refused(
        r"topic 'pizzas' was re-created.*'T2'.*'T1'.*reset_topics=\[\"pizzas\"\]",
        position(5),
        logs=[log(topic_id="T2")],
        decisions=Decisions(recover=True, accept_loss=ALL_LOSSES, reset_topics=frozenset({"drinks"})),
    )


def test_topic_recreated_after_losing_positions_is_named_so() -> None:
    deleted: dict[str, Any] = {"contained_ids": lambda _: frozenset({"T0"}), "logs": [log(start=4)]}
    refused(
        r"'pizzas' was re-created: its id is 'T1', and the records that were read had the id 'T0'.*reset_topics=",
        **deleted,
    )
    refused("was re-created", decisions=RECOVER, **deleted)
    resolved = resolve(decisions=ADOPT, offset_reset="latest", **deleted)
    assert resolved.positions == (position(4, since=4),)
    assert resolved.notes == ("pizzas-0: the new topic T1 is read from its log start 4",)


@pytest.mark.parametrize("reset_topics", ["pizzas", "*"])
def test_reset_topic_is_read_from_log_start_as_new_generation(reset_topics: str) -> None:
    before = position(50, backlogs=is_behind(a=10, b=20), lost=(2, 3))
    resolved = resolve(
        before, logs=[log(start=7, topic_id="T2")], decisions=Decisions(reset_topics=frozenset({reset_topics}))
    )
    assert resolved.positions == (position(7, since=7, topic_id="T2"),)
    assert resolved.replaced == (before,)
    (note,) = resolved.notes
    assert "topic id T2 replaces T1, which was read up to 50" in note
    assert "the backlog of a, b is lost" in note


def test_reset_topic_starting_at_old_position_is_new_generation() -> None:
    resolved = resolve(position(7), logs=[log(start=7, topic_id="T2")], decisions=ADOPT)
    assert resolved.positions == (position(7, since=7, topic_id="T2"),)


def test_a_position_past_the_log_is_refused() -> None:
    refused(
        r"101 of pizzas-2 is past its last stable offset 100.*reset_topics=\[\"pizzas\"\].*above 100 stay in the tables",
        position(101, 2),
        logs=[log(2)],
        decisions=Decisions(recover=True, accept_loss=ALL_LOSSES),
    )


def test_reset_shortened_log_continues_at_end_with_backlogs() -> None:
    before = position(50, backlogs=is_behind(a=10, b=45))
    resolved = resolve(before, logs=[log(end=40)], decisions=ADOPT)
    assert resolved.positions == (position(40, since=40, backlogs=is_behind(a=10)),)
    assert resolved.replaced == (before,)
    assert resolved.notes == ("pizzas-0: the log ends at 40, below 50; reading continues at 40",)


def test_log_truncated_below_the_position_is_refused_with_the_offset() -> None:
    refused(
        r"pizzas-0 was truncated at offset 40.*leader epoch is 5 now, and epoch 3.*position is 50\).*reset_topics=",
        position(50, epoch=LeaderEpoch(3, 50)),
        logs=[replace(log(), epoch=5)],
        divergences={P0: 40},
        decisions=Decisions(recover=True, accept_loss=ALL_LOSSES),
    )


def test_log_truncated_above_the_position_is_refused_as_tables_may_have_it() -> None:
    refused(
        r"truncated at offset 60.*position is 50, and a run had planned the offsets up to 70",
        position(50, epoch=LeaderEpoch(3, 70)),
        divergences={P0: 60},
    )


def test_reset_truncated_log_continues_where_it_diverged() -> None:
    before = position(50, epoch=LeaderEpoch(3, 50), backlogs=is_behind(a=10, b=45))
    resolved = resolve(before, divergences={P0: 40}, decisions=ADOPT)
    assert resolved.positions == (position(40, since=40, backlogs=is_behind(a=10)),)
    assert (resolved.replaced, resolved.cuts) == ((before,), {P0: 40})
    assert resolved.notes == ("pizzas-0: the log was truncated at 40, below 50; reading continues at 40",)


def test_reset_log_truncated_above_the_position_keeps_the_position() -> None:
    before = position(50, epoch=LeaderEpoch(3, 70), backlogs=is_behind(a=45))
    resolved = resolve(before, divergences={P0: 60}, decisions=ADOPT)
    assert resolved.positions == (position(50, backlogs=is_behind(a=45)),)
    assert (resolved.replaced, resolved.cuts) == ((before,), {P0: 60})


def test_another_cluster_is_refused() -> None:
    refused(
        r"position of pizzas-0 belongs to cluster 'C1'.*'C2'.*Kafka connection.*reset_topics=\[\"pizzas\"\]",
        position(5),
        cluster_id="C2",
        decisions=Decisions(recover=True, accept_loss=ALL_LOSSES),
    )


def test_reset_cluster_with_same_topic_continues_at_position() -> None:
    resolved = resolve(position(5, backlogs=is_behind(a=4)), cluster_id="C2", decisions=ADOPT)
    assert resolved.positions == (position(5, cluster_id="C2", backlogs=is_behind(a=4)),)


def test_reset_cluster_whose_log_ends_below_what_was_planned_forgets_the_offsets_above() -> None:
    """A run died between its tables and the position: they may contain what the other cluster's log does not have."""
    before = position(50, epoch=LeaderEpoch(3, 120))
    resolved = resolve(before, cluster_id="C2", decisions=ADOPT)
    assert resolved.positions == (position(50, cluster_id="C2"),)
    assert resolved.cuts == {P0: 100}


def test_log_that_ends_below_what_a_run_had_planned_is_refused() -> None:
    refused(
        r"the offset 120, up to which a run had planned, of pizzas-0 is past", position(50, epoch=LeaderEpoch(3, 120))
    )


def test_an_adopted_cluster_with_another_topic_begins_anew() -> None:
    resolved = resolve(position(5), logs=[log(start=1, topic_id="T9")], cluster_id="C2", decisions=ADOPT)
    assert resolved.positions == (position(1, since=1, topic_id="T9", cluster_id="C2"),)


def test_a_partition_that_vanished_is_refused() -> None:
    refused(r"partition pizzas-1 has a position \(9\).*fewer partitions.*reset_topics=", position(5), position(9, 1))


def test_vanished_partition_is_ignored_once_topic_is_reset() -> None:
    both = (position(5), position(9, 1))
    new = [log(topic_id="T2")]
    resolved = resolve(*both, logs=new, decisions=ADOPT)
    assert resolved.positions == (position(0, since=0, topic_id="T2"),)
    assert resolve(*resolved.positions, both[1], logs=new) == ResolvedPositions(resolved.positions)


def test_vanished_partition_of_reset_generation_is_refused() -> None:
    new = [log(topic_id="T2")]
    refused("partition pizzas-1 has a position", position(5, topic_id="T2"), position(9, 1, topic_id="T2"), logs=new)
    foreign = Position(TopicPartition("pizzas", 1), 9, "")
    refused("partition pizzas-1 has a position", position(5, topic_id="T2"), foreign, logs=new)
