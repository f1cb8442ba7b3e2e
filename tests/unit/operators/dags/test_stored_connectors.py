"""DAGs of connectors that REST made, beside those of files; a look-up that fails takes none of the files' away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import airflow.sdk
import pytest

from floe.config.stored.stored_connector import CONNECTOR, StoredConnector
from floe.operators.dags.connector_dags import replay_dags, sink_dags
from tests.support.connectors import MINIMAL
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


def text(*, is_paused: bool = False) -> str:
    return StoredConnector("one", CONFIG, is_paused).to_text()


def test_stored_connectors_become_dags_beside_files(variables: Set, tmp_path: Path) -> None:
    variables({"one": text(), "two": text(is_paused=True)})
    dags = sink_dags(tmp_path)
    assert {name: dag.is_paused_upon_creation for name, dag in dags.items()} == {
        "file": None,
        "one": False,
        "two": True,
    }
    assert list(replay_dags(tmp_path)) == ["file.replay", "one.replay", "two.replay"]


def test_task_looks_up_its_own_connector_only(variables: Set, tmp_path: Path) -> None:
    asked = variables({"one": text(), "two": text()})
    assert list(sink_dags(tmp_path, "one")) == ["one"]
    assert list(replay_dags(tmp_path, "one.replay")) == ["one.replay"]
    assert asked.asked == [CONNECTOR + "one"] * 2
    assert list(sink_dags(tmp_path, "gone")) == []


def test_nothing_is_looked_up_without_the_switch(
    variables: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = variables({"one": text()})
    monkeypatch.delenv("FLOE_REST_CONNECTORS")
    assert (list(sink_dags(tmp_path)), asked.asked) == (["file"], [])


def test_look_up_that_fails_leaves_the_files(variables: Set, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    variables({"one": text()}, RuntimeError("no database"))
    assert list(sink_dags(tmp_path)) == ["file"]
    assert "left out" in caplog.text


def test_name_of_a_file_is_not_taken(variables: Set, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    variables({"file": text()})
    dags = sink_dags(tmp_path)
    assert (list(dags), dags["file"].is_paused_upon_creation) == (["file"], None)
    assert "a connector file has this name" in caplog.text


def test_variable_beyond_the_lists_is_a_broken_dag(
    variables: Set, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOE_REST_HOSTS", "")
    variables({"one": text()})
    for wanted in (None, "one"):
        dag = sink_dags(tmp_path, wanted)["one"]
        assert ("broken" in dag.tags, "REST" in (dag.doc_md or "")) == (True, True)
