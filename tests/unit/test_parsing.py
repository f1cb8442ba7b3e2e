"""What Airflow parses is light: it happens again and again, and before every task."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.repository import ROOT

HEAVY = ("pyspark", "pyiceberg", "pyarrow", "confluent_kafka", "fastavro", "pandas")

PARSE = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("dags", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from airflow.sdk import DAG
print(sorted(name for name, value in vars(module).items() if isinstance(value, DAG)))
print([name for name in sys.argv[2:] if name in sys.modules])
"""


def parse(tmp_path: Path, file: str = "sink.py", asked: tuple[str, ...] = HEAVY, **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PARSE, str(ROOT / "dags" / file), *asked],
        env={
            **os.environ,
            "AIRFLOW_HOME": str(tmp_path),
            "FLOE_CACHE_DIR": "",
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "PYTHONPATH": str(ROOT / "plugins"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-2:]


def test_parsing_the_dags_imports_nothing_heavy(tmp_path: Path) -> None:
    assert parse(tmp_path) == ["['pizzas-on-ice']", "[]"]


def test_each_file_imports_what_its_own_dags_need_only(tmp_path: Path) -> None:
    kinds = ("floe.operators.dags.sink_dag", "floe.operators.dags.replay_dag", "floe.operators.dags.broken_dag")
    found = [parse(tmp_path, file, kinds)[1] for file in ("broken_connectors.py", "sink.py")]
    assert found == ["[]", "['floe.operators.dags.sink_dag']"]


def test_every_connector_of_folder_gets_its_dag_even_broken(tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    good = (ROOT / "dags" / "connectors" / "pizzas-on-ice.json").read_text()
    (folder / "good.json").write_text(good)
    (folder / "bad.json").write_text("{")
    dags, heavy = parse(tmp_path, FLOE_CONNECTORS_DIR=str(folder))
    assert (dags, heavy) == ("['bad', 'pizzas-on-ice']", "[]")


def test_a_connector_has_one_replay_dag_that_no_name_can_shadow(tmp_path: Path) -> None:
    assert parse(tmp_path, "replay.py") == ["['pizzas-on-ice.replay']", "[]"]
    folder = tmp_path / "connectors"
    folder.mkdir()
    good = (ROOT / "dags" / "connectors" / "pizzas-on-ice.json").read_text()
    (folder / "good.json").write_text(good)
    (folder / "shadow.json").write_text(good.replace('"pizzas-on-ice"', '"pizzas-on-ice.replay"'))
    (folder / "pizzas-on-ice.replay.json").write_text("{")
    names = ["pizzas-on-ice", "pizzas-on-ice-replay", "shadow"]
    dags, heavy = parse(tmp_path, "replay.py", FLOE_CONNECTORS_DIR=str(folder))
    assert (dags, heavy) == (str(sorted(f"{name}.replay" for name in names)), "[]")
    sinks, _ = parse(tmp_path, FLOE_CONNECTORS_DIR=str(folder))
    assert sinks == str(names)


def test_a_task_builds_the_replay_dag_of_its_own_connector_only(tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    good = (ROOT / "dags" / "connectors" / "pizzas-on-ice.json").read_text()
    for name in ("pizzas-on-ice", "calzones"):
        (folder / f"{name}.json").write_text(good.replace('"pizzas-on-ice"', f'"{name}"'))
    context = {"_AIRFLOW_PARSING_CONTEXT_DAG_ID": "calzones.replay", "_AIRFLOW_PARSING_CONTEXT_TASK_ID": "plan"}
    parsed = parse(tmp_path, "replay.py", FLOE_CONNECTORS_DIR=str(folder), **context)
    assert parsed == ["['calzones.replay']", "[]"]
    assert parse(tmp_path, FLOE_CONNECTORS_DIR=str(folder), **context) == ["[]", "[]"]


def test_floe_has_one_dag_of_its_own(tmp_path: Path) -> None:
    assert parse(tmp_path, "status.py") == ["['floe.status']", "[]"]
