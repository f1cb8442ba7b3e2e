"""Seals of plans: whatever is changed, left out, added or brought from another run breaks them."""

from __future__ import annotations

import json
import pickle

import pytest

from floe.model.dead_letters import DeadLetterOffsets
from floe.model.exceptions import SealBroken
from floe.model.holding import LogId
from floe.model.offsets import Intervals, OffsetRange, TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.plan_seal import SEAL, DeploymentKey, RunName, is_sealed, mac_of
from floe.model.positions import Position, PositionMetadata
from tests.support.json_paths import changed, paths
from tests.support.keys import KEY, KEY_TEXT

RUN = RunName("pizzas", "manual__1")
OTHER = "another key of the same length as the usual one"


def make_plan() -> Plan:
    """Make a plan in which every field has something."""
    metadata = PositionMetadata("route", 1, "id-a", "cluster").encode()
    dead_letters = DeadLetterOffsets.of([("t.x", LogId("a", "id-a", 0), Intervals(((6, 7),)))])
    return Plan(
        plan_id="p1",
        connector="pizzas",
        group_id="connect-pizzas",
        cluster_id="cluster",
        config={"name": "pizzas", "topics": "a"},
        control_topic="control-iceberg",
        control_ends={0: 7},
        positions=(Position(TopicPartition("a", 0), 5, metadata),),
        slices=(
            Slice(
                0,
                SliceKind.REDRIVE,
                (OffsetRange("a", "id-a", 0, 5, 8),),
                ("t.x",),
                dead_letters,
            ),
        ),
        replaced=(Position(TopicPartition("a", 0), 3, "by hand"),),
        decisions={"forgive": ["t.x"]},
        anchors={"t.x": 7},
    )


@pytest.mark.parametrize("how", ["other", "gone", "twice"])
def test_seal_of_a_changed_field_is_refused(how: str) -> None:
    stored = json.loads(json.dumps(KEY.seal(make_plan().to_json(), RUN)))
    for path in paths(stored):
        if path == (SEAL,) and how == "twice":
            continue
        with pytest.raises(SealBroken, match="Trigger a new run"):
            KEY.unseal(changed(stored, path, how), RUN)


def test_seal_of_a_plan_as_it_was_stored_holds() -> None:
    stored = json.loads(json.dumps(KEY.seal(make_plan().to_json(), RUN)))
    assert KEY.unseal(stored, RUN) == KEY.plan_key("p1")
    assert Plan.from_json(stored) == make_plan()
    assert list(stored)[:-1] == list(make_plan().to_json())


@pytest.mark.parametrize("run", [RunName("pizzas", "manual__2"), RunName("pasta", "manual__1"), RunName("pizzasm", "")])
def test_seal_of_another_run_is_refused(run: RunName) -> None:
    with pytest.raises(SealBroken, match="belongs to another run"):
        KEY.unseal(KEY.seal(make_plan().to_json(), RUN), run)


@pytest.mark.parametrize("value", [1, None, True, "", "1:", [], "2:00", "é"])
def test_seal_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(SealBroken):
        KEY.unseal({**make_plan().to_json(), SEAL: value}, RUN)


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"x"])
def test_seal_over_what_is_not_json_is_refused(value: object) -> None:
    with pytest.raises(SealBroken, match="not JSON"):
        KEY.unseal({**KEY.seal(make_plan().to_json(), RUN), "config": value}, RUN)


def test_seal_of_an_earlier_key_holds_and_keeps_that_key() -> None:
    rotated = DeploymentKey.of(f"{OTHER}, {KEY_TEXT}", "test")
    stored = KEY.seal(make_plan().to_json(), RUN)
    assert rotated.unseal(stored, RUN) == KEY.plan_key("p1")
    assert rotated.plan_key("p1") != KEY.plan_key("p1")
    assert KEY.plan_key("p1") in rotated.plan_keys("p1")
    with pytest.raises(SealBroken):
        DeploymentKey.of(OTHER, "test").unseal(stored, RUN)


def test_keys_of_plans_differ_and_are_not_the_deployments() -> None:
    keys = {KEY.plan_key(name).secret for name in ("p1", "p2", "")} | {KEY_TEXT.encode()}
    assert len(keys) == 4


def test_key_is_not_shown_and_does_not_leave_the_process() -> None:
    key = KEY.plan_key("p1")
    assert "secret" not in f"{KEY!r}{key!r}"
    with pytest.raises(TypeError, match="workers"):
        pickle.dumps(key)


@pytest.mark.parametrize("text", ["", ",", "short", f"{KEY_TEXT},short"])
def test_key_that_is_short_is_refused(text: str) -> None:
    with pytest.raises(SealBroken, match="32 characters"):
        DeploymentKey.of(text, "FLOE_SECRET_KEY")


def test_mac_of_other_cuts_differs() -> None:
    cuts = [[b"ab", b"c"], [b"a", b"bc"], [b"abc"], [b"abc", b""], [b"", b"abc"]]
    assert len({mac_of(b"k", parts) for parts in cuts}) == len(cuts)


def test_plan_without_a_key_is_stored_as_before() -> None:
    assert not is_sealed(make_plan().to_json())
