"""`start_at` and `skip_to`: where a new topic begins, and what is left out from now on, on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from floe.model.decisions import Decisions, Rollback
from floe.model.exceptions import PlanRefused
from floe.model.offsets import Intervals, TopicPartition
from floe.model.plan import Plan
from floe.model.positions import Position
from floe.planning.wanted_offsets import MAX_NAMED, ResolvedPositions, wanted_offsets
from tests.support.kafka.fake_broker import Broker
from tests.support.partitions import is_behind, log, position
from tests.support.runs.live_plans import position as live_position
from tests.support.runs.live_plans import ranges
from tests.support.runs.start_positions import P0, refused, resolve
from tests.support.tables.lake import TABLE, TOPIC

P1, D0 = TopicPartition("pizzas", 1), TopicPartition("drinks", 0)
LOGS = [log(0, 10, 100), log(1, 0, 50), log(0, 5, 9, topic="drinks")]
TIME = "2026-05-01T12:00:00+02:00"


def at(wanted: Mapping[str, object], found: Mapping[TopicPartition, int | None] | None = None) -> dict[Any, int]:
    """Resolve what a run asks for; ``found``: the offsets of times."""

    def offsets_at(tps: Any, moment: int) -> dict[TopicPartition, int | None]:
        assert moment == 1_777_629_600_000
        return {tp: (found or {})[tp] for tp in tps}

    return wanted_offsets("skip_to", wanted, LOGS, offsets_at)


# -- what a run asks for -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, {}),
        ({"pizzas-0": 60}, {P0: 60}),
        ({"pizzas-0": 100, "pizzas-1": 0}, {P0: 100, P1: 0}),
        ({"pizzas-0": 3}, {P0: 3}),
        ({"pizzas": "latest"}, {P0: 100, P1: 50}),
        ({"pizzas": "earliest", "pizzas-1": 7}, {P0: 10, P1: 7}),
        ({"*": "latest", "pizzas-1": 7}, {P0: 100, P1: 7, D0: 9}),
        ({"pizzas": TIME}, {P0: 20, P1: 50}),
    ],
)
def test_offsets_names_and_times_are_resolved(wanted: dict[str, object], expected: dict[Any, int]) -> None:
    assert at(wanted, {P0: 20, P1: None}) == expected


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"pizzas-2": 1}, r"'pizzas-2'.*no topic or partition that the connector reads.*pizzas-0"),
        ({"orders": "latest"}, r"'orders'"),
        ({"pizzas-0": -1}, r"'pizzas-0' is -1: write an offset, which is not negative"),
        ({"pizzas-0": True}, r"'pizzas-0' is True: write an offset"),
        ({"pizzas-0": 1.5}, r"'pizzas-0' is 1.5: write an offset"),
        ({"pizzas-0": None}, r"'pizzas-0' is None"),
        ({"pizzas-0": [1]}, r"'pizzas-0' is \[1\]"),
        ({"pizzas-0": "60"}, r"'pizzas-0' is '60': write an ISO date"),
        ({"pizzas-0": "newest"}, r"'pizzas-0' is 'newest'"),
        ({"pizzas-0": "2026-05-01T12:00:00"}, r"no time zone"),
        ({"pizzas-0": 101}, r"'pizzas-0' is 101, but the log of pizzas-0 ends at 100"),
        ({"pizzas": 60}, r"'pizzas' is 60: an offset is of one partition; name it, as in pizzas-0"),
        ({"*": 60}, r"an offset is of one partition"),
        ({"x" * 1000: 1}, r"'x{100}…'"),
    ],
)
def test_what_the_log_does_not_have_is_refused(wanted: dict[str, object], why: str) -> None:
    with pytest.raises(PlanRefused, match=rf"skip_to.*{why}.*Nothing was read") as caught:
        at(wanted)
    assert caught.value.code == "FLOE-112"


def test_all_problems_are_named_up_to_a_limit() -> None:
    with pytest.raises(PlanRefused, match=rf"and {500 - MAX_NAMED} more") as caught:
        at({f"p{i}": 1 for i in range(500)})
    assert len(str(caught.value)) < 5000


# -- skipping ----------------------------------------------------------------------------------------------------------


def skipped(*positions: Position, to: int = 60, **how: Any) -> ResolvedPositions:
    return resolve(*positions, skips={P0: to}, **how)


def test_skipped_offsets_are_lost_on_record() -> None:
    before = position(50)
    assert skipped(before) == ResolvedPositions(
        (position(60, since=60, lost=(50, 60)),),
        replaced=(before,),
        notes=("pizzas-0: skip_to leaves out the offsets [50, 60) (10), which were not read",),
    )


def test_skip_adds_to_what_no_snapshot_records_yet() -> None:
    (found,) = skipped(position(50, lost=(40, 45))).positions
    assert found.metadata_fields.lost == Intervals(((40, 45), (50, 60)))


def test_skip_to_the_present_offset_changes_nothing() -> None:
    assert skipped(position(60)) == ResolvedPositions((position(60),))


def test_skip_goes_forward_only() -> None:
    refused(
        r"skip_to names 60 for pizzas-0, which was read up to 61.*forward only.*Nothing was read.*one\.replay",
        position(61),
        skips={P0: 60},
        owner="one",
    )


def test_skip_over_what_retention_removed_needs_no_second_word() -> None:
    (found,) = skipped(position(5), logs=[log(start=20)]).positions
    assert found == position(60, since=60, lost=(5, 60))
    refused(r"lost the offsets \[15, 20\)", position(5), logs=[log(start=20)], skips={P0: 15})


def test_skip_is_refused_while_a_table_is_behind() -> None:
    refused(
        r"skip_to names pizzas-0, on which the tables \['a'\] are behind.*Nothing was read.*drop_backlog=\[\"a\"\]",
        position(50, backlogs=is_behind(a=10)),
        skips={P0: 60},
    )
    (found,) = skipped(
        position(50, backlogs=is_behind(a=10)), decisions=Decisions(drop_backlog=frozenset({"a"}))
    ).positions
    assert found == position(60, since=60, lost=(50, 60))


def test_skip_of_partition_that_was_not_read_is_refused() -> None:
    refused(r"skip_to names pizzas-0, which has not been read yet.*start_at", skips={P0: 60})


def test_skip_does_not_pass_over_positions_of_others() -> None:
    refused(r"was not written by floe", Position(P0, 17, "by hand"), skips={P0: 60})
    refused(r"topic 'pizzas' was re-created", position(17, topic_id="T0"), skips={P0: 60})
    refused(r"is past its last stable offset 40", position(50), skips={P0: 60}, logs=[log(end=40)])


# -- where a new topic begins ------------------------------------------------------------------------------------------


def test_new_topic_begins_where_the_run_says() -> None:
    found = resolve(logs=[log(0, 7), log(1)], starts={P0: 40}, offset_reset="latest")
    assert found == ResolvedPositions(
        (position(40, since=40), position(100, 1, since=100)),
        notes=("pizzas-0: begins at 40, as start_at says; the log begins at 7",),
    )


def test_begin_below_the_log_start_is_refused() -> None:
    refused(
        r"start_at names 5 for pizzas-0, but its log begins at 7.*Nothing was read", logs=[log(0, 7)], starts={P0: 5}
    )


def test_topic_that_was_read_does_not_begin_again() -> None:
    refused(
        r"start_at names pizzas-0, but topic 'pizzas' was read already.*skip_to.*one\.replay",
        position(5),
        starts={P0: 40},
        owner="one",
    )
    refused(r"topic 'pizzas' was read already", position(5, 1), logs=[log(0), log(1)], starts={P0: 40})


def test_begin_does_not_replace_lost_positions() -> None:
    refused(r"positions were lost.*`recover`", contained_ids=lambda _: frozenset({"T1"}), starts={P0: 40})


# -- the plan ----------------------------------------------------------------------------------------------------------


def test_plan_skips_and_keeps_the_decision_on_record(
    broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    broker.has(live_position(50))
    plan = draft(skip_to={f"{TOPIC}-0": 60})
    assert ranges(plan) == [("live", [f"{TOPIC}-0[60, 100)"])]
    note = f"{TOPIC}-0: skip_to leaves out the offsets [50, 60) (10), which were not read"
    assert plan.decisions == {"skip_to": {f"{TOPIC}-0": 60}, "notes": [note]}
    after = live_position(60, since=60, lost=Intervals(((50, 60),)))
    assert (plan.positions, plan.replaced) == ((after,), (live_position(50),))
    for _ in range(2):
        assert opened(Plan.from_json(plan.to_json()))
        assert broker.found[TopicPartition(TOPIC, 0)] == after


def test_skip_to_the_end_moves_the_position_without_a_slice(
    broker: Broker, draft: Callable[..., Plan], opened: Callable[[Plan], bool]
) -> None:
    broker.has(live_position(50))
    plan = draft(skip_to={TOPIC: "latest"})
    assert plan.slices == ()
    assert not opened(plan)
    assert broker.found[TopicPartition(TOPIC, 0)].offset == 100
    assert len(broker.moves[0].events) == 1, "the decision is in the control topic"


def test_dry_run_shows_what_would_be_skipped(
    broker: Broker, draft: Callable[..., Plan], caplog: pytest.LogCaptureFixture
) -> None:
    broker.has(live_position(50))
    draft(skip_to={TOPIC: "latest"}, dry_run=True)
    assert "skip_to leaves out the offsets [50, 100) (50)" in caplog.text
    assert broker.moves == []


def test_new_connector_begins_where_the_run_says(broker: Broker, draft: Callable[..., Plan]) -> None:
    plan = draft(start_at={f"{TOPIC}-0": 40})
    assert ranges(plan) == [("live", [f"{TOPIC}-0[40, 100)"])]
    assert plan.positions == (live_position(40, since=40),)


@pytest.mark.parametrize(
    "decided",
    [
        {"skip_to": {TOPIC: "latest"}, "start_at": {TOPIC: "latest"}},
        {"skip_to": {TOPIC: "latest"}, "recover": True},
        {"skip_to": {TOPIC: "latest"}, "reset_topics": frozenset({TOPIC})},
        {"skip_to": {TOPIC: "latest"}, "rolled_back": {TABLE: Rollback.REPLAY}},
        {"start_at": {TOPIC: "latest"}, "recover": True},
        {"start_at": {TOPIC: "latest"}, "reset_topics": frozenset({"*"})},
    ],
)
def test_what_says_two_things_about_offsets_is_refused(draft: Callable[..., Plan], decided: dict[str, Any]) -> None:
    with pytest.raises(PlanRefused, match=r"cannot be combined with.*Nothing was read"):
        draft(**decided)
