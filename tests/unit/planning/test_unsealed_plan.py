"""Plans without a seal: what cannot be compared with the connector file and the positions is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from floe.config import Connector, KeyClass
from floe.model.exceptions import SealBroken
from floe.model.offsets import OffsetRange, TopicPartition
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.positions import Position
from floe.planning.unsealed_plan import check_sealed
from tests.support.tables.lake import TOPIC, Lake
from tests.support.tables.slices import make_plan

Change = Callable[[Plan], Plan]


@pytest.fixture
def connector(tmp_path: Any) -> Connector:
    return Lake(tmp_path).connector(**{"iceberg.control.topic": "control-iceberg"})


def unsealed(connector: Connector, kind: str = "live") -> Plan:
    plan = make_plan((0, 5, 10), kind=kind)
    return replace(plan, config=connector.frozen(), connector=connector.name, group_id=connector.group_id)


def refused(
    plan: Plan,
    connector: Connector,
    allowed: KeyClass = KeyClass.LIVE,
    *,
    has_signed: bool = False,
    **positions: Position,
) -> str:
    """Return why a plan is refused whose positions are as it says, unless others are given."""
    found = {p.tp: p for p in unsealed(connector).positions} | {p.tp: p for p in positions.values()}
    with pytest.raises(SealBroken, match="Trigger a new run") as caught:
        check_sealed(plan, connector, allowed, found, has_signed=has_signed)
    return str(caught.value)


def slice_(plan: Plan, **changes: Any) -> Plan:
    return replace(plan, slices=(replace(plan.slices[0], **changes),))


def test_unsealed_plan_as_it_was_made_is_taken(connector: Connector) -> None:
    plan = unsealed(connector)
    check_sealed(plan, connector, KeyClass.LIVE, {p.tp: p for p in plan.positions}, has_signed=False)
    skip = unsealed(connector, "skip")
    check_sealed(skip, connector, KeyClass.REPLAY, {p.tp: p for p in plan.positions}, has_signed=False)


ELSEWHERE = (OffsetRange(TOPIC, "T2", 0, 5, 10),)
CHANGES: list[tuple[str, Change, str]] = [
    ("group", lambda p: replace(p, group_id="connect-other"), "it is for"),
    ("connector", lambda p: replace(p, connector="other"), "it is for"),
    ("control topic", lambda p: replace(p, control_topic="mine"), "it is for"),
    ("decisions", lambda p: replace(p, decisions={"forgive": ["rpc.pizzas"]}), "decisions"),
    ("replaced", lambda p: replace(p, replaced=p.positions), "decisions"),
    ("anchors", lambda p: replace(p, anchors={"rpc.pizzas": 1}), "decisions"),
    ("cluster", lambda p: replace(p, cluster_id="C2"), "not of the log"),
    ("tables", lambda p: slice_(p, tables=("rpc.audit",)), "not the connector's"),
    ("no tables", lambda p: slice_(p, tables=()), "not the connector's"),
    ("topic id", lambda p: slice_(p, ranges=ELSEWHERE), "not of the log"),
    (
        "kind",
        lambda p: slice_(p, kind=SliceKind.APPEND),
        "trigger the replay again",
    ),
    ("position", lambda p: replace(p, positions=(replace(p.positions[0], offset=6),)), "the position of"),
    ("metadata", lambda p: replace(p, positions=(replace(p.positions[0], metadata="{}"),)), "the position of"),
    ("no position", lambda p: replace(p, positions=()), "the position of"),
    ("code", lambda p: replace(p, config={**p.config, "iceberg.catalog.py-io-impl": "os.system"}), "code"),
    ("catalog", lambda p: replace(p, config={**p.config, "iceberg.catalog.uri": "http://x"}), "class file"),
]


@pytest.mark.parametrize(("change", "why"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_unsealed_plan_that_was_changed_is_refused(connector: Connector, change: Change, why: str) -> None:
    assert why in refused(change(unsealed(connector)), connector)


@pytest.mark.parametrize("kind", ["append", "replace", "redrive", "live"])
def test_unsealed_replay_that_asks_no_ledger_is_refused(connector: Connector, kind: str) -> None:
    assert "trigger the replay again" in refused(unsealed(connector, kind), connector, KeyClass.REPLAY)


def test_unsealed_replay_of_other_topics_is_refused(connector: Connector) -> None:
    ranges = (OffsetRange("secrets", "S1", 0, 0, 5),)
    plan = replace(unsealed(connector, "skip"), slices=(Slice(0, SliceKind.SKIP, ranges, ("db.mine",)),))
    assert "'secrets'" in refused(plan, connector, KeyClass.REPLAY)


def test_unsealed_plan_after_a_sealed_one_is_refused(connector: Connector) -> None:
    plan = unsealed(connector)
    owned = replace(plan.positions[0].metadata_fields, owner="pizzas").encode()
    other = Position(TopicPartition("another", 7), 3, owned)
    assert "opened group" in refused(plan, connector, other=other)
    assert "opened group" in refused(plan, connector, has_signed=True)
