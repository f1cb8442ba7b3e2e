"""DAGs of connectors that REST made, beside those of files; a look-up that fails takes none of the files' away."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import airflow.sdk
import pytest

from floe.config.stored import budget
from floe.config.stored.stored_connector import CONNECTOR, StoredConnector
from floe.operators.dags.connector_dags import (
    check_connectors,
    replay_dags,
    rest_replay_dags,
    rest_sink_dags,
    sink_dags,
)
from tests.support.connectors import MINIMAL
from tests.support.cpu import least_cpu_seconds
from tests.support.rest.floe_worker import CONFIG


class Variables:
    """Airflow's Variables as its SDK gives them."""

    def __init__(self, values: dict[str, str], problem: Exception | None = None) -> None:
        self.values = values
        self.problem = problem
        self.asked: list[str] = []

    def keys(self, prefix: str) -> list[str]:
        self._answer(f"keys {prefix}")
        return [key for key in self.values if key.startswith(prefix)]

    def get(self, key: str, default: Any) -> Any:
        self._answer(key)
        return self.values.get(key, default)

    def _answer(self, what: str) -> None:
        self.asked.append(what)
        if self.problem is not None:
            raise self.problem


Set = Callable[..., Variables]


@pytest.fixture
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Set:
    """Set Variables, with a connector file ``file`` beside them."""
    (tmp_path / "file.json").write_text(json.dumps({**MINIMAL, "name": "file"}))
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(tmp_path))
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    monkeypatch.setenv("FLOE_REST_HOSTS", "catalog.example:8181")
    monkeypatch.setenv("FLOE_REST_CONNECTORS", "true")

    def put(texts: dict[str, str], problem: Exception | None = None) -> Variables:
        found = Variables({CONNECTOR + name: text for name, text in texts.items()}, problem)
        monkeypatch.setattr(airflow.sdk, "Variable", found)
        return found

    return put


def made(name: str, day: int, more: dict[str, str] | None = None) -> str:
    at = datetime(2026, 1, day, tzinfo=UTC)
    return StoredConnector(name, {**CONFIG, "name": name, **(more or {})}, made=at).to_text()


def text(*, is_paused: bool = False) -> str:
    return StoredConnector("one", CONFIG, is_paused).to_text()


def test_stored_connectors_become_dags_of_their_own_files(variables: Set, tmp_path: Path) -> None:
    asked = variables({"one": text(), "two": text(is_paused=True)})
    assert (list(sink_dags(tmp_path)), list(replay_dags(tmp_path))) == (["file"], ["file.replay"])
    assert asked.asked == []  # the files of connector files do not depend on them
    dags = rest_sink_dags(tmp_path)
    assert {name: dag.is_paused_upon_creation for name, dag in dags.items()} == {"one": False, "two": True}
    assert list(rest_replay_dags(tmp_path)) == ["one.replay", "two.replay"]


def test_task_looks_up_its_own_connector_only(variables: Set, tmp_path: Path) -> None:
    asked = variables({"one": text(), "two": text()})
    assert list(rest_sink_dags(tmp_path, "one")) == ["one"]
    assert list(rest_replay_dags(tmp_path, "one.replay")) == ["one.replay"]
    assert asked.asked == [CONNECTOR + "one"] * 2
    assert list(rest_sink_dags(tmp_path, "gone")) == []


def test_nothing_is_looked_up_without_the_switch(
    variables: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = variables({"one": text()})
    monkeypatch.delenv("FLOE_REST_CONNECTORS")
    assert (rest_sink_dags(tmp_path), asked.asked) == ({}, [])
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(tmp_path / "missing"))  # so that reading the folder would be an error
    assert (rest_sink_dags(tmp_path), rest_replay_dags(tmp_path)) == ({}, {})


def test_look_up_that_fails_is_logged(variables: Set, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    variables({"one": text()}, RuntimeError("no database"))
    assert rest_sink_dags(tmp_path) == {}
    assert "left out" in caplog.text


def test_name_of_a_file_is_not_taken(variables: Set, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    variables({"file": text()})
    assert rest_sink_dags(tmp_path) == {}
    assert "a connector file has this name" in caplog.text


@pytest.mark.parametrize(
    ("limit", "value"), [("MAX_CONNECTORS", 2), ("MAX_BYTES", 2 * len(made("one", 1)) + 10), ("MAX_TABLES", 2)]
)
def test_newest_connectors_beyond_a_limit_are_left_out_by_name(
    variables: Set,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    limit: str,
    value: int,
) -> None:
    monkeypatch.setattr(budget, limit, value)
    variables({"old": made("old", 1), "new": made("new", 3), "mid": made("mid", 2), "by-hand": text()})
    assert list(rest_sink_dags(tmp_path)) == ["mid", "old"]
    assert list(rest_replay_dags(tmp_path)) == ["mid.replay", "old.replay"]
    assert "2 connectors made by REST are left out: 'by-hand', 'new'" in caplog.text
    with pytest.raises(ImportError, match=r"by-hand(.|\n)*left out(.|\n)*new(.|\n)*left out"):
        check_connectors(tmp_path)
    assert list(sink_dags(tmp_path)) == ["file"]


def test_task_of_a_connector_that_is_left_out_goes_on(
    variables: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budget, "MAX_CONNECTORS", 1)
    variables({"old": made("old", 1), "new": made("new", 3)})
    assert list(rest_sink_dags(tmp_path)) == ["old"]
    assert list(rest_sink_dags(tmp_path, "new")) == ["new"]  # of a run that began before


def test_many_large_connectors_are_parsed_in_seconds(variables: Set, tmp_path: Path) -> None:
    tables = ",".join(f"db.t{number}" for number in range(4_900))
    large = {f"large-{number}": made(f"large-{number}", 1, {"iceberg.tables": tables}) for number in range(10)}
    variables(large)
    assert len(rest_sink_dags(tmp_path)) == 2
    assert least_cpu_seconds(lambda: rest_sink_dags(tmp_path)) < 5


def test_variable_beyond_the_lists_is_a_broken_dag(
    variables: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOE_REST_HOSTS", "")
    variables({"one": text()})
    for wanted in (None, "one"):
        dag = rest_sink_dags(tmp_path, wanted)["one"]
        assert ("broken" in dag.tags, "REST" in (dag.doc_md or "")) == (True, True)
