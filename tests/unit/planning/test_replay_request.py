"""Replay requests: what the form asks for, or a refusal that says how to ask."""

from __future__ import annotations

from typing import Any

import pytest

from floe.exceptions import Terminal
from floe.model.exceptions import PlanRefused
from floe.model.plan import SliceKind
from floe.planning.replay_request import Overlap, ReplayRequest

JANUARY = 1_769_857_200_000
"""2026-01-31T12:00:00+01:00 in epoch ms."""


def request(topics: tuple[str, ...] = ("pizzas",), **params: Any) -> ReplayRequest:
    return ReplayRequest.of(params, topics, ("db.a", "db.b"), 500)


def test_empty_form_asks_for_all_of_the_only_topic() -> None:
    assert request() == ReplayRequest("pizzas", {}, None, ("db.a", "db.b"), Overlap.SKIP, 500, is_open=True)
    assert request(ranges={}, from_time=None, to_time="", tables=[], max_records=None) == request()


@pytest.mark.parametrize(
    "named",
    [{"all": True}, {"ranges": {"0": [0, 1]}}, {"from_time": "2026-01-31T12:00:00Z"}, {"dead_letters": True}],
    ids=str,
)
def test_request_that_says_what_to_read_is_no_dry_run(named: dict[str, Any]) -> None:
    assert not request(**named).is_open


@pytest.mark.parametrize(
    "named", [{}, {"ranges": {}}, {"all": False, "overlap": "replace", "tables": ["db.a"]}], ids=str
)
def test_request_that_names_no_extent_is_a_dry_run(named: dict[str, Any]) -> None:
    assert request(**named).is_open


def test_ranges_are_taken_by_partition_with_open_ends() -> None:
    assert request(ranges={"0": [100, 200], "12": [None, 5], "3": [7, None]}).ranges == {
        0: (100, 200),
        12: (None, 5),
        3: (7, None),
    }


def test_an_overlap_is_a_kind_of_slice() -> None:
    of_ranges = [request(overlap=o, ranges={"0": [0, 1]}) for o in ("skip", "append", "replace")]
    assert [SliceKind(one.overlap) for one in of_ranges] == [SliceKind.SKIP, SliceKind.APPEND, SliceKind.REPLACE]
    assert [one.replaces for one in of_ranges] == [False, False, True]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ranges": {"0": [20, 10]}}, r"partition 0 is reversed: \[20, 10\].*start below end"),
        ({"ranges": {"0": [10, 10]}}, r"partition 0 is empty: \[10, 10\]"),
        ({"ranges": {"0": [-1, 10]}}, r"partition 0 is \[-1, 10\]: offsets are not negative"),
        ({"ranges": {"0": [None, -5]}}, r"\[None, -5\]: offsets are not negative"),
        ({"ranges": {"0": [0, 10.0]}}, r"\[0, 10\.0\]: write \[start, end\) as two whole numbers"),
        ({"ranges": {"0": [False, True]}}, r"two whole numbers"),
        ({"ranges": {"0": [1, 2, 3]}}, r"two whole numbers"),
        ({"ranges": {"0": "12"}}, r"'12': write \[start, end\)"),
        ({"ranges": {"0": None}}, r"two whole numbers"),
        ({"ranges": {"zero": [0, 1]}}, r"'zero' is no partition: write its number"),
        ({"ranges": {"00": [0, 1], "0": [2, 3]}}, r"'00' is no partition"),
        ({"ranges": {"٣": [0, 1]}}, r"'٣' is no partition"),
        ({"ranges": {"9" * 6000: [0, 1]}}, r"is no partition"),
        ({"ranges": [[0, 1]]}, r"write an object of partitions"),
        ({"from_time": "yesterday"}, r"from_time is 'yesterday': write an ISO date and time with its zone"),
        ({"from_time": "2026-01-31T12:00:00"}, r"has no time zone: add one, e\.g\. 2026-01-31T12:00:00Z"),
        ({"to_time": 17}, r"to_time is 17: write an ISO date"),
        (
            {"from_time": "2026-01-31T12:00:00Z", "to_time": "2026-01-31T13:00:00+01:00"},
            r"from_time '2026-01-31T12:00:00Z' is not before to_time",
        ),
        ({"ranges": {"0": [0, 1]}, "to_time": "2026-01-31T12:00:00Z"}, r"ranges and times.*give either"),
        (
            {"topic": "toppings"},
            r"topic 'toppings' is not configured in this connector: set `topic` to one of \['pizzas'\]",
        ),
        ({"tables": ["db.a", "db.c"]}, r"table 'db\.c' is not configured in this connector"),
        ({"overlap": "twice"}, r"overlap 'twice' is not known: use one of \['skip', 'append', 'replace'\]"),
        ({"dead_letters": True, "overlap": "append"}, r"dead_letters and overlap=append.*Leave overlap at skip"),
        ({"dead_letters": 1}, r"dead_letters is 1: write true or false"),
        ({"all": "yes"}, r"all is 'yes': write true or false"),
        ({"all": True, "ranges": {"0": [0, 1]}}, r"`all` and offsets or times.*give one of them"),
        ({"overlap": "append"}, r"append.*needs `ranges`, `from_time` or `to_time`.*leave overlap at skip"),
        ({"overlap": "append", "all": True}, r"append.*needs `ranges`"),
        ({"max_records": 0}, r"max_records is 0: write a number of records of at least 1"),
        ({"max_records": "many"}, r"max_records is 'many'"),
    ],
)
def test_request_wrong_by_itself_is_refused_with_its_value(params: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanRefused, match=words) as caught:
        request(**params)
    assert isinstance(caught.value, Terminal)


def test_of_several_topics_one_must_be_named() -> None:
    with pytest.raises(PlanRefused, match=r"names no topic: set `topic` to one of \['a', 'b'\]"):
        request(("a", "b"))
    assert request(("a", "b"), topic="b").topic == "b"


def test_all_wrong_partitions_are_named_up_to_a_handful() -> None:
    with pytest.raises(PlanRefused, match=r"partition 0 .*partition 4 .*and 3 more"):
        request(ranges={str(p): [2, 1] for p in range(8)})


def test_chosen_tables_keep_the_connectors_order_and_come_once() -> None:
    assert request(tables=["db.b", "db.a", "db.b"]).tables == ("db.a", "db.b")


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-01-31T12:00:00+01:00", JANUARY),
        ("2026-01-31T11:00:00Z", JANUARY),
        ("2026-01-31T11:00:00.000001Z", JANUARY + 1),
        ("1969-12-31T23:59:59Z", 0),
        ("0001-01-01T00:00:00+14:00", 0),
        ("9999-12-31T23:59:59.999999-14:00", 253_402_300_799_999),
    ],
)
def test_moment_is_first_millisecond_at_or_after_it(text: str, ms: int) -> None:
    assert request(from_time=text).window == (ms, None)
    if ms:
        assert request(to_time=text).window == (None, ms)
