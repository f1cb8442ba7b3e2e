"""A broken connector file: its DAGs stay and fail, the others are not touched. Airflow's own DagBag reads the DAG files."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from floe.config import ConfigError, ConnectorFile
from floe.config.connector_files import read_file
from floe.operators.dags.broken_dag import broken_replay_dag, broken_sink_dag, import_error
from floe.operators.dags.connector_dags import check_connectors, replay_dags, sink_dags
from floe.operators.dags.schedule import StaggeredInterval
from floe.operators.failures import short_lines
from tests.support.connectors import JSON
from tests.support.repository import ROOT

MINUTE = StaggeredInterval(timedelta(minutes=1), "pizzas")
KEYS: dict[str, Any] = {
    "topics": "t",
    "iceberg.tables": "db.t",
    "iceberg.catalog.type": "sql",
    "iceberg.control.commit.interval-ms": 60_000,
    **JSON,
}

DAG_BAG = """
import json, sys
from pathlib import Path
from airflow.dag_processing.dagbag import DagBag
from airflow.serialization.serialized_objects import DagSerialization
bag = DagBag(sys.argv[1], bundle_path=Path(sys.argv[1]), bundle_name="dags")
dags = {dag_id: DagSerialization.to_dict(dag)["dag"] for dag_id, dag in bag.dags.items()}
print(json.dumps({"errors": bag.import_errors, "dags": dags}))
"""


@pytest.fixture
def connectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write a connector file into the folder that the DAG files read; `text` in the place of a good one's JSON."""
    folder = tmp_path / "connectors"
    folder.mkdir()
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(folder))
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "cache"))

    def write(file: str, text: str | None = None, **keys: Any) -> Path:
        path = folder / f"{file}.json"
        path.write_text(json.dumps({**KEYS, **keys}) if text is None else text)
        return path

    return write


def dag_bag(tmp_path: Path) -> dict[str, Any]:
    """Have Airflow read the DAG files of the repository in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", DAG_BAG, str(ROOT / "dags")],
        env={
            **os.environ,
            "AIRFLOW_HOME": str(tmp_path / "airflow"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__PLUGINS_FOLDER": str(ROOT / "plugins"),
            "PYTHONPATH": str(ROOT / "plugins"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_hostile_files_cost_no_good_connector_its_dags(connectors: Callable[..., Path], tmp_path: Path) -> None:
    folder = connectors("good", name="pizzas").parent
    connectors("typo", name="calzones", **{"errors.tolerence": "all"})
    connectors("doc", name="doc", **{"iceberg.x <img src=x> *a* [b](javascript:c).md": "x"})
    connectors("brackets", "[" * 1_000_000)
    connectors("keys", json.dumps({f"iceberg.k{i}": 1 for i in range(20_000)}))
    connectors("long", "{", name="x")
    (folder / os.fsdecode(b"\xff \n.json")).write_text("{")
    os.mkfifo(folder / "pipe.json")
    (folder / "loop.json").symlink_to(folder / "loop.json")
    found = dag_bag(tmp_path)
    (error,) = found["errors"].items()
    assert error[0].endswith("broken_connectors.py")
    assert "8 connector files are broken" in error[1] and "errors.tolerance" in error[1]
    broken = {"calzones", "doc", "brackets", "keys", "long", "pipe", "loop", "___"}
    names = {"pizzas", *broken}
    assert set(found["dags"]) == names | {f"{name}.replay" for name in names} | {"floe.status"}
    assert {dag_id for dag_id, dag in found["dags"].items() if "broken" in dag["tags"]} == {
        *broken,
        *(f"{name}.replay" for name in broken),
    }


def test_without_broken_files_there_is_no_import_error(connectors: Callable[..., Path]) -> None:
    connectors("good", name="pizzas")
    check_connectors(Path("nowhere"))


def test_the_import_error_lists_all_files_and_problems(connectors: Callable[..., Path]) -> None:
    connectors("good", name="pizzas")
    one = connectors("one", name="calzones", **{"task.max": 2, "iceberg.tabels": "x"})
    two = connectors("two", "{")
    with pytest.raises(ImportError) as caught:
        check_connectors(Path("nowhere"))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("2 connector files are broken.")
    assert f"{one} (DAG calzones):" in lines and f"{two} (DAG two):" in lines
    assert "  - unknown key 'task.max'; the nearest known key is tasks.max" in lines
    assert lines[-1] == "See FLOE-103."
    assert len(lines) == 7


def test_a_broken_connector_keeps_id_and_schedule(connectors: Callable[..., Path]) -> None:
    path = connectors("a", name="pizzas")
    assert sink_dags(path.parent)["pizzas"].schedule == MINUTE
    connectors("a", '{"iceberg.tables": "x",')
    dags = sink_dags(path.parent)
    assert list(dags) == ["pizzas"] and list(replay_dags(path.parent)) == ["pizzas.replay"]
    dag = dags["pizzas"]
    assert (dag.schedule, dag.max_active_runs, dag.catchup, dag.is_paused_upon_creation) == (MINUTE, 1, False, True)
    assert [task.task_id for task in dag.tasks] == ["plan", "write", "commit"]
    assert {task.owner for task in dag.tasks} == {"floe"} and dag.tags == {"floe", "broken"}
    # a task that was queued while the file was good may still be tried again: soon, and only for errors that may pass
    assert all(task.retry_delay == timedelta(seconds=10) and task.retry_policy is not None for task in dag.tasks)


def test_what_is_kept_holds_no_settings(connectors: Callable[..., Path], tmp_path: Path) -> None:
    path = connectors("a", name="pizzas", **{"iceberg.catalog.token": "canary"})
    sink_dags(path.parent)
    (kept,) = (tmp_path / "cache" / "connectors").iterdir()
    assert json.loads(kept.read_text()) == {"a.json": {"name": "pizzas", "interval-ms": 60_000}}
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    path.unlink()
    sink_dags(path.parent)
    assert json.loads(kept.read_text()) == {}


def test_a_task_on_another_host_fails_with_the_errors(
    connectors: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = connectors("a", "{")
    connectors("b", name="good")
    monkeypatch.setenv("FLOE_CACHE_DIR", str(tmp_path / "empty"))
    dags = sink_dags(path.parent, "pizzas")
    (replay,) = replay_dags(path.parent, "pizzas.replay").values()
    for dag in (dags["pizzas"], replay):
        with pytest.raises(Exception, match="line 1, column 2: no valid JSON"):
            dag.task_dict["plan"].execute({})
    path.unlink()
    assert sink_dags(path.parent, "pizzas") == {}


def test_a_task_writes_nothing_into_the_cache(connectors: Callable[..., Path], tmp_path: Path) -> None:
    path = connectors("a", name="pizzas")
    assert set(sink_dags(path.parent, "pizzas")) == {"pizzas"}
    assert not (tmp_path / "cache" / "connectors").exists()


def test_a_cache_that_cannot_be_used_costs_only_the_names(
    connectors: Callable[..., Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "cache").mkdir(mode=0o777)
    (tmp_path / "cache").chmod(0o777)
    path = connectors("a", name="pizzas")
    assert set(sink_dags(path.parent)) == {"pizzas"}
    assert "Names of connectors are not kept" in caplog.text


def test_the_docs_are_a_list_that_shows_what_it_quotes(connectors: Callable[..., Path]) -> None:
    file = read_file(connectors("a", name="pizzas", **{"iceberg.<b>*x*.md": "x", "floe.y\nz": "x"}))
    for dag in (broken_sink_dag(file), broken_replay_dag(file, "pizzas.replay")):
        lines = (dag.doc_md or "").splitlines()
        assert lines[0].startswith("**a.json is broken**")
        assert any(line.startswith(r"* unknown key 'iceberg.\<b\>\*x\*.md'; there is no such key") for line in lines)
        assert len([line for line in lines if line.startswith("* ")]) == 2
        assert not (dag.doc_md or "").endswith(".md")


def test_a_run_fails_with_all_errors_as_a_list(connectors: Callable[..., Path]) -> None:
    file = read_file(connectors("a", name="pizzas", **{"iceberg.tabels": "x", "task.max": 1}))
    with pytest.raises(Exception, match=r"'a\.json' is broken") as caught:
        broken_sink_dag(file).task_dict["plan"].execute({})
    assert "\n* unknown key 'iceberg.tabels'; the nearest known key is iceberg.tables\n" in str(caught.value)
    assert "\n* unknown key 'task.max'" in str(caught.value)
    what, *problems = short_lines(str(caught.value))
    assert what == "The connector file 'a.json' is broken"
    assert "* unknown key 'iceberg.tabels'; the nearest known key is iceberg.tables" in problems
    assert any(line.startswith("Correct") for line in problems)


def test_an_import_error_is_short_whatever_is_in_the_folder(tmp_path: Path) -> None:
    error = ConfigError(*(["x" * 10_000] * 5000))
    files = [ConnectorFile(tmp_path / f"{i}.json", str(i), None, error) for i in range(200)]
    text = import_error(files) or ""
    assert len(text) < 600_000 and text.endswith("… and 150 more files\nSee FLOE-103.")
