"""What is wrong around the events of assets and the lineage fails no task, and a plan that fails keeps kept events."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.exceptions import DownstreamTasksSkipped

from floe.commit.run_commit import Committer
from floe.config import parse_connector
from floe.kafka.access import TopicsLeftOut
from floe.operators import commit, plan, task_context
from floe.operators.commit import CommitOperator
from floe.operators.plan import PlanOperator
from floe.planning import live_plan
from floe.status import reports
from tests.support.connectors import MINIMAL

CONTEXT: Any = {"outlet_events": object(), "ti": SimpleNamespace(xcom_push=lambda **_: None)}
SETTINGS = SimpleNamespace(source={}, origin="the connection")


def always(value: object) -> Callable[..., Any]:
    return lambda *_, **__: value


def broken(*_: object, **__: object) -> Any:
    msg = "no API server"
    raise RuntimeError(msg)


@pytest.fixture
def committing(monkeypatch: pytest.MonkeyPatch) -> CommitOperator:
    """A commit task whose commit is made, with nothing around it that could fail."""
    one = parse_connector(MINIMAL)
    plan_ = SimpleNamespace(is_replay=False, positions=(), dead_letters=None)
    committer = SimpleNamespace(commit=always("the report"), so_far=None)
    report = SimpleNamespace(lines=list, to_json=lambda: {"commit": "made"})
    monkeypatch.setattr(commit, "pulled", always((plan_, one, None, {})))
    monkeypatch.setattr(commit, "announced_slices", always([]))
    monkeypatch.setattr(commit, "kafka_settings", always(SETTINGS))
    monkeypatch.setattr(commit, "failure_of", always(None))
    monkeypatch.setattr(Committer, "open", always(committer))
    monkeypatch.setattr(reports, "RunReport", always(report))
    monkeypatch.setattr(task_context, "reasons_of", always({}))
    monkeypatch.setattr(commit.run_stats, "count_commit", always(None))
    monkeypatch.setattr(commit.store, "keep", always(None))
    monkeypatch.setattr(commit.Lineage, "of", always("the lineage"))
    monkeypatch.setattr(commit, "raise_events", always(None))
    return CommitOperator(task_id="commit", connector=one)


@pytest.mark.parametrize("part", ["events", "lineage"])
def test_commit_that_is_made_succeeds_without(
    committing: CommitOperator, part: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if part == "events":
        monkeypatch.setattr(commit, "raise_events", broken)
    else:
        monkeypatch.setattr(commit.Lineage, "of", broken)
    assert committing.execute(CONTEXT) == {"commit": "made"}
    assert "which changes nothing else: RuntimeError: no API server" in caplog.text
    assert committing.lineage == (None if part == "lineage" else "the lineage")


Planning = Callable[..., PlanOperator]


@pytest.fixture
def planning(monkeypatch: pytest.MonkeyPatch) -> Planning:
    """Makes a plan task whose plan is made, of nothing new unless slices are given."""
    one = parse_connector(MINIMAL)

    def make(**fields: object) -> PlanOperator:
        made = SimpleNamespace(**{"slices": (), "left_out": (), "positions": (), "plan_id": "p", **fields})
        monkeypatch.setattr(plan, "params_of", always({}))
        monkeypatch.setattr(plan, "resolved", always(one))
        monkeypatch.setattr(plan, "kafka_settings", always(SETTINGS))
        monkeypatch.setattr(plan.store, "keep", always(None))
        monkeypatch.setattr(PlanOperator, "_frozen", always((made, one, None, {"plan": "p"})))
        monkeypatch.setattr(PlanOperator, "_show", always(None))
        monkeypatch.setattr(live_plan, "open_plan", always(True))
        return PlanOperator(task_id="plan", connector=one)

    return make


def test_plan_that_is_made_succeeds_without_events(
    planning: Planning, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(plan, "raise_kept", broken)
    assert planning(slices=("one",)).execute(CONTEXT) == {"plan": "p"}
    with pytest.raises(DownstreamTasksSkipped):
        planning().execute(CONTEXT)
    assert caplog.text.count("Events of assets could not be raised, which changes nothing else: RuntimeError") == 2


def test_plan_that_fails_for_left_out_topics_keeps_events(planning: Planning, monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[object] = []
    monkeypatch.setattr(plan, "raise_kept", lambda *_: raised.append(None))
    with pytest.raises(TopicsLeftOut):
        planning(left_out=("secret",)).execute(CONTEXT)
    assert raised == []
    planning(left_out=("secret",), slices=("one",)).execute(CONTEXT)
    assert len(raised) == 1
