"""Resolving: a replay lies in what the log still has and what was read; all else is refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from floe.model.exceptions import PlanRefused
from floe.model.offsets import OffsetRange, PartitionLog, TopicPartition
from floe.model.positions import PartitionBacklog, Position, PositionMetadata
from floe.planning.replay_plan import ReplayContext, check_no_backlogs, resolve
from floe.planning.replay_request import Bounds, ReplayRequest


def log(partition: int = 0, start: int = 10, end: int = 120, topic_id: str = "id") -> PartitionLog:
    return PartitionLog(TopicPartition("pizzas", partition), topic_id, start, end)


def position(partition: int = 0, offset: int = 100, **facts: Any) -> Position:
    metadata = PositionMetadata(**{"routing": "R", "since": 0, "topic_id": "id", "cluster_id": "C", **facts})
    return Position(TopicPartition("pizzas", partition), offset, metadata.encode())


def context(*pairs: tuple[PartitionLog, Position | None], marks: dict[int, Bounds] | None = None) -> ReplayContext:
    return ReplayContext(
        "C",
        [log for log, _ in pairs],
        {p.tp: p for _, p in pairs if p is not None},
        {TopicPartition("pizzas", p): bounds for p, bounds in (marks or {}).items()},
    )


def ranges(*triples: tuple[int, int, int]) -> tuple[OffsetRange, ...]:
    return tuple(OffsetRange("pizzas", "id", *triple) for triple in triples)


def request(**params: Any) -> ReplayRequest:
    return ReplayRequest.of(params, ("pizzas",), ("db.a", "db.b"), None)


TWO = context((log(0), position(0)), (log(1, 0, 50), position(1, 50)))


def test_replay_without_ranges_is_log_start_to_position() -> None:
    assert resolve(request(), TWO) == ranges((0, 10, 100), (1, 0, 50))


def test_partitions_unread_or_empty_are_omitted_unless_named() -> None:
    three = context((log(0), position(0)), (log(1), None), (log(2, 100, 100), position(2, 100)))
    assert resolve(request(), three) == ranges((0, 10, 100))
    with pytest.raises(PlanRefused, match=r"pizzas-1 has no position.*the connector's main DAG will"):
        resolve(request(ranges={"1": [10, 20]}), three)
    with pytest.raises(PlanRefused, match=r"\[100, 100\) of pizzas-2 is empty: the log begins at 100"):
        resolve(request(ranges={"2": [None, None]}), three)


def test_offsets_of_a_truncated_log_are_not_replayed() -> None:
    cut = replace(TWO, divergences={TopicPartition("pizzas", 0): 60})
    for ranges_ in (None, {"0": [30, 61]}, {"0": [70, 80]}):
        with pytest.raises(PlanRefused, match=r"pizzas-0 was truncated at offset 60.*main DAG.*end the range at 60"):
            resolve(request(ranges=ranges_), cut)
    assert resolve(request(ranges={"0": [30, 60], "1": [20, 50]}), cut) == ranges((0, 30, 60), (1, 20, 50))


def test_open_bounds_are_the_log_start_and_the_position() -> None:
    asked = request(ranges={"0": [None, 30], "1": [20, None]})
    assert resolve(asked, TWO) == ranges((0, 10, 30), (1, 20, 50))


@pytest.mark.parametrize(
    ("partition", "bounds", "words"),
    [
        ("0", [10, 101], r"\[10, 101\) of pizzas-0 ends past the position 100.*main DAG. End it at 100 at most"),
        ("0", [200, 300], r"ends past the position 100"),
        ("0", [9, 20], r"\[9, 20\) of pizzas-0 begins below the log start 10.*begin it at 10 at least"),
        ("0", [100, None], r"\[100, 100\) of pizzas-0 is empty"),
        ("0", [400, None], r"\[400, 100\) of pizzas-0 is empty.*read up to 100"),
        ("2", [0, 1], r"partition 2 of topic 'pizzas' does not exist: it has the partitions 0 to 1"),
        ("-1", [0, 1], r"partition -1 of topic 'pizzas' does not exist"),
    ],
)
def test_a_range_that_was_not_read_or_is_gone_is_refused(partition: str, bounds: list[int | None], words: str) -> None:
    with pytest.raises(PlanRefused, match=f"nothing is replayed: .*{words}"):
        resolve(request(ranges={partition: bounds}), TWO)


def test_every_bad_range_is_named_at_once() -> None:
    with pytest.raises(PlanRefused, match=r"pizzas-0 ends past.*partition 7 of topic"):
        resolve(request(ranges={"0": [10, 500], "1": [0, 5], "7": [0, 1]}), TWO)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        (context((log(), None)), r"no partition of topic 'pizzas' has a position.*Run the connector's main DAG first"),
        (
            context((log(topic_id="new"), position())),
            r"re-created: its id is 'new', and the records that were read had the id 'id'",
        ),
        (context((log(), position(cluster_id="C2"))), r"belongs to cluster 'C2', but this is cluster 'C'"),
        (context((log(end=99), position())), r"the position 100 of pizzas-0 is past its last stable offset 99"),
        (context((log(0, 100, 100), position(0, 100))), r"nothing to replay: the log has no offset that was read"),
        (context((log(), Position(TopicPartition("pizzas", 0), 5, "x"))), r"no metadata of floe's"),
    ],
)
def test_offsets_not_read_by_this_connector_are_refused(where: ReplayContext, words: str) -> None:
    with pytest.raises(PlanRefused, match=words):
        resolve(request(), where)


WINDOW = {"from_time": "2026-01-31T11:00:00Z", "to_time": "2026-01-31T12:00:00Z"}


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ((20, 40), (20, 40)),
        ((20, None), (20, 100)),
        ((20, 110), (20, 100)),
        ((0, 40), (10, 40)),
        ((100, None), None),
        ((110, 115), None),
        ((None, None), None),
        ((30, 30), None),
    ],
)
def test_window_ends_at_position_and_is_refused_when_empty(mark: Bounds, expected: tuple[int, int] | None) -> None:
    where = context((log(), position()), marks={0: mark})
    if expected is None:
        with pytest.raises(PlanRefused, match=r"has a time from 2026-01-31T11.*to 2026-01-31T12.*0 up to 100"):
            resolve(request(**WINDOW), where)
    else:
        assert resolve(request(**WINDOW), where) == ranges((0, *expected))


def test_window_open_on_one_side_goes_as_far_as_offsets_exist() -> None:
    where = context((log(), position()), marks={0: (None, 40)})
    assert resolve(request(to_time=WINDOW["to_time"]), where) == ranges((0, 10, 40))
    where = context((log(), position()), marks={0: (40, None)})
    assert resolve(request(from_time=WINDOW["from_time"]), where) == ranges((0, 40, 100))


def test_windows_side_by_side_leave_no_gap_and_do_not_overlap() -> None:
    marks: list[int | None] = [20, 20, 47, 90, None]
    range_parts = []
    for start, end in zip([None, *marks], [*marks, None], strict=True):
        where = context((log(), position()), marks={0: (start, end)})
        times = {"from_time": WINDOW["from_time"] if range_parts or start else None, "to_time": WINDOW["to_time"]}
        try:
            range_parts += resolve(request(**times), where)
        except PlanRefused:
            continue
    assert range_parts == list(ranges((0, 10, 20), (0, 20, 47), (0, 47, 90), (0, 90, 100)))


def test_what_a_table_owes_comes_by_its_catch_up_not_by_a_replay() -> None:
    where = {position().tp: position(backlogs={"db.a": PartitionBacklog(50, "R")})}
    asked = ranges((0, 10, 60))
    with pytest.raises(
        PlanRefused, match=r"table 'db\.a' is behind on pizzas-0 from 50 on.*End the range at 50 at most"
    ):
        check_no_backlogs(asked, where, ["db.a", "db.b"])
    check_no_backlogs(asked, where, ["db.b"])
    check_no_backlogs(ranges((0, 10, 50)), where, ["db.a"])
