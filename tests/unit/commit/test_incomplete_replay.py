"""The end of a replay that left tables out: each trigger in its error reads exactly what is missing."""

import json
import re
from typing import Any

import pytest

from floe.commit.replay_outcome import incomplete_replay
from floe.commit.slice_commit import SliceOutcome
from floe.model.offsets import OffsetRange
from floe.model.plan import Slice, SliceKind
from floe.planning.replay_request import ReplayRequest
from tests.support.tables.slices import make_plan

PLAN = make_plan((0, 0, 9), kind="skip")


def slice_of(index: int, *ranges: tuple[int, int, int], kind: str = "append") -> Slice:
    found = tuple(OffsetRange("t", "T1", *one) for one in ranges)
    return Slice(index, SliceKind(kind), found, ("db.a", "db.b"))


def ended(*behind: str) -> SliceOutcome:
    return SliceOutcome(behind=dict.fromkeys(behind, "no grant."))


def triggers(*ends: tuple[Slice, SliceOutcome], **params: Any) -> list[dict[str, Any]]:
    error = incomplete_replay(PLAN, ends, params)
    assert error is not None
    found = re.search(r"trigger this DAG with (.*?\})\.( Do not clear|$)", str(error))
    assert found is not None
    return [json.loads(one) for one in found[1].split(", then ")]


def test_replay_that_left_no_table_out_has_no_error() -> None:
    assert incomplete_replay(PLAN, [(slice_of(0, (0, 0, 9)), ended())], {}) is None


@pytest.mark.parametrize("kind", ["skip", "append", "replace"])
def test_trigger_names_the_ranges_of_missing_slices(kind: str) -> None:
    first, second, third = (slice_of(i, (0, 5 * i, 5 * i + 5), (1, i, i + 1), kind=kind) for i in range(3))
    (found,) = triggers((first, ended("db.b")), (second, ended("db.b")), (third, ended()))
    assert found == {"topic": "t", "ranges": {"0": [0, 10], "1": [0, 2]}, "tables": ["db.b"], "overlap": kind}
    assert ReplayRequest.of(found, ["t"], ["db.a", "db.b"], None).tables == ("db.b",)


def test_gap_between_missing_slices_makes_two_triggers() -> None:
    first, second, third = (slice_of(i, (0, 5 * i, 5 * i + 5)) for i in range(3))
    found = triggers((first, ended("db.b")), (second, ended()), (third, ended("db.b")))
    assert [one["ranges"] for one in found] == [{"0": [0, 5]}, {"0": [10, 15]}]


def test_tables_that_lack_other_slices_have_own_triggers() -> None:
    first, second = (slice_of(i, (0, 5 * i, 5 * i + 5)) for i in range(2))
    found = triggers((first, ended("db.a", "db.b")), (second, ended("db.b")))
    assert [(one["tables"], one["ranges"]) for one in found] == [(["db.a"], {"0": [0, 5]}), (["db.b"], {"0": [0, 10]})]


def test_redrive_is_repeated_for_all_that_is_open() -> None:
    one = slice_of(0, (0, 3, 9), kind="redrive")
    (found,) = triggers((one, ended("db.b")))
    assert found == {"topic": "t", "ranges": {"0": [3, 9]}, "dead_letters": True}
    (found,) = triggers((one, ended("db.b")), tables=["db.b"])
    assert found["tables"] == ["db.b"]


def test_given_branch_config_and_limit_are_repeated() -> None:
    given = {"branch": "audit", "config": {"tasks.max": "1"}, "max_records": 5, "from_time": "2026-01-31T12:00:00Z"}
    (found,) = triggers((slice_of(0, (0, 0, 9)), ended("db.b")), **given)
    assert {name: found.get(name) for name in given} == {**given, "from_time": None}


def test_only_an_append_warns_of_clearing_the_run() -> None:
    for kind, warns in (("append", True), ("skip", False)):
        error = incomplete_replay(PLAN, [(slice_of(0, (0, 0, 9), kind=kind), ended("db.b"))], {})
        assert ("Do not clear this run" in str(error)) == warns
