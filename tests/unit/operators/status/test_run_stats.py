"""Metrics of runs: what is sent to Airflow's own, and that none of it fails a task."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk.observability import stats

from floe.operators.failures import floe_task
from floe.operators.status.run_stats import count_commit, task_time

Sent = list[tuple[str, str, Any, Any]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What Airflow is given: kind, name, value, tags."""
    found: Sent = []
    for kind in ("incr", "timing"):
        monkeypatch.setattr(stats, kind, lambda name, value, tags, kind=kind: found.append((kind, name, value, tags)))
    return found


def table_commit(table: str, rows: int, *sizes: int, already: bool = False) -> Any:
    files = [SimpleNamespace(files=[SimpleNamespace(file_size_in_bytes=size) for size in sizes])]
    return SimpleNamespace(
        table_files=SimpleNamespace(table=table, files=files), counts=SimpleNamespace(rows=rows), already=already
    )


def report(*committed: Any, done: bool = False) -> Any:
    return SimpleNamespace(done=done, committed=committed)


def test_commit_is_counted(sent: Sent) -> None:
    tables = (table_commit("db.t", 5, 10, 20), table_commit("db.u", 1, 7), table_commit("db.dead", 2, 99))
    count_commit("one", report(*tables, table_commit("db.v", 100, 100, already=True)), {"E": 2}, "db.dead")
    tags = {"connector": "one"}
    assert sent == [
        ("incr", "floe.one.rows", 6, tags),
        ("incr", "floe.one.files", 3, tags),
        ("incr", "floe.one.bytes", 37, tags),
        ("incr", "floe.one.commits", 1, tags),
        ("incr", "floe.one.dead_letters", 2, tags),
    ]


def test_commit_that_an_earlier_try_did_counts_nothing(sent: Sent) -> None:
    count_commit("one", report(done=True), {"E": 2}, None)
    assert sent == []


@pytest.mark.parametrize(("tries", "retries"), [(1, 0), (2, 1)])
def test_task_sends_its_time_even_if_it_fails(sent: Sent, tries: int, retries: int) -> None:
    context = {"ti": SimpleNamespace(task_id="plan", dag_id="one.replay", try_number=tries)}
    connector: Any = SimpleNamespace(name="one")
    with pytest.raises(OSError), task_time(connector, context):
        raise OSError
    *counted, (kind, name, _, tags) = sent
    assert (kind, name) == ("timing", "floe.one.plan.duration")
    assert tags == {"connector": "one", "task": "plan", "dag": "one.replay"}
    assert [one[1] for one in counted] == ["floe.one.retries"] * retries


def test_names_have_no_character_that_metrics_do_not_have(sent: Sent) -> None:
    count_commit("pízzas", report(), {}, None)
    assert sent == [("incr", "floe.p_zzas.commits", 1, {"connector": "p_zzas"})]


def test_metrics_that_fail_fail_no_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError

    monkeypatch.setattr(stats, "incr", broken)
    monkeypatch.setattr(stats, "timing", broken)
    count_commit("one", report(), {}, None)

    class Task:
        _connector = SimpleNamespace(name="one", properties={})

        @floe_task
        def execute(self, context: Any) -> int:
            return 7

    context = {"ti": SimpleNamespace(task_id="plan", dag_id="one", try_number=2)}
    assert Task().execute(context) == 7
