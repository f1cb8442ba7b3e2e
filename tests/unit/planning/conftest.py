"""A lake for each test, slices written for it, and plans of a connector whose broker is stood in for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from floe.model.decisions import Decisions
from floe.model.plan import Plan
from floe.planning.live_plan import draft_plan, open_plan
from tests.support.fixtures import aging, lake, short_waits, write
from tests.support.kafka.fake_broker import Broker
from tests.support.keys import KEY
from tests.support.runs.live_plans import CREATES, position
from tests.support.tables.lake import Lake
from tests.support.tables.slices import make_plan

__all__ = ["aging", "lake", "short_waits", "write"]


@pytest.fixture
def broker(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Broker:
    """Give a cluster whose one partition has the offsets 0 to 100."""
    made = Broker(lake).log()
    made.stand_in(monkeypatch)
    return made


@pytest.fixture
def draft(lake: Lake, broker: Broker) -> Callable[..., Plan]:
    """Draft a plan; decisions by name, keys of the connector by ``keys``."""

    def make(keys: dict[str, str] | None = None, **decided: Any) -> Plan:
        how = {name: decided.pop(name) for name in ("max_records", "dry_run") if name in decided}
        decisions = Decisions(**decided) if decided else None
        return draft_plan(lake.connector(**CREATES, **(keys or {})), None, decisions=decisions, **how)  # type: ignore[arg-type]

    return make


@pytest.fixture
def opened(lake: Lake) -> Callable[[Plan], bool]:
    """Open a plan."""
    return lambda plan: open_plan(plan, lake.connector(), None, KEY.plan_key(plan.plan_id))  # type: ignore[arg-type]


@pytest.fixture
def plan() -> Plan:
    """Give a plan of one live slice over [5, 9)."""
    made = make_plan((0, 5, 9))
    return replace(made, positions=(position(5),))
