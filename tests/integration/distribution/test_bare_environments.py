"""The wheel in bare environments: pip installs a stock Airflow with it, and a run makes the first snapshot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from stack.services.broker import Broker
from tests.support.repository import ROOT

CASES = {
    "3.11": ("3.11", ("-c", "constraints.txt")),
    "3.12": ("3.12", ("-c", "constraints.txt")),
    "3.13": ("3.13", ("-c", "constraints.txt")),
    "newest": ("3.12", ()),
}
"""Pythons with the versions that the tests run with; and the newest that floe's ranges allow."""
CONNECTOR = {
    "topics": "",
    "iceberg.tables": "db.orders",
    "iceberg.tables.auto-create-enabled": "true",
    "iceberg.tables.evolve-schema-enabled": "true",
    "iceberg.catalog": "lake",
    "iceberg.catalog.type": "sql",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
READ = """
from pyiceberg.catalog import load_catalog
table = load_catalog("lake").load_table("db.orders")
print(table.scan().to_arrow().num_rows, len(table.snapshots()))
"""


def python_of(version: str) -> str | None:
    """Find a Python of a minor version: of pyenv, whose commands on the path may be none, or on the path."""
    of_pyenv = sorted(Path("~/.pyenv/versions").expanduser().glob(f"{version}.*/bin/python"))
    return str(of_pyenv[-1]) if of_pyenv else shutil.which(f"python{version}")


def _run(*command: str, cwd: Path = ROOT, **environ: str) -> str:
    given = {**os.environ, **environ}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=given)
    assert done.returncode == 0, f"{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
    return done.stdout


@pytest.mark.full
@pytest.mark.timeout(1_500)
@pytest.mark.parametrize(("version", "constraints"), CASES.values(), ids=CASES)
def test_first_snapshot_is_made_beside_a_stock_airflow(
    version: str, constraints: tuple[str, ...], broker: Broker, topic: Callable[..., str], tmp_path: Path
) -> None:
    python = python_of(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    _run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")
    _run(python, "-m", "venv", str(tmp_path / "venv"))
    own = str(tmp_path / "venv" / "bin")
    _run(f"{own}/pip", "install", "-q", f"{wheel}[protobuf]", *constraints)

    dags, source = tmp_path / "airflow" / "dags", topic(1)
    (dags / "connectors").mkdir(parents=True)
    (dags / "connectors" / "orders.json").write_text(json.dumps({**CONNECTOR, "topics": source}))
    (dags / "floe_dags.py").write_text(
        "from floe import connector_dags  # Airflow's DAGs\n\nglobals().update(connector_dags())\n"
    )
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for i in range(20):
        producer.produce(source, json.dumps({"id": i}))
    producer.flush(10)

    (tmp_path / "warehouse").mkdir()
    environ = {
        "PATH": f"{own}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": "",
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYICEBERG_CATALOG__LAKE__URI": f"sqlite:///{tmp_path}/catalog.db",
        "PYICEBERG_CATALOG__LAKE__WAREHOUSE": (tmp_path / "warehouse").as_uri(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "FLOE_SECRET_KEY": "0123456789abcdef" * 3,
        "FLOE_CACHE_DIR": str(tmp_path / "cache"),
    }
    airflow = (f"{own}/airflow",)
    _run(*airflow, "db", "migrate", cwd=tmp_path, **environ)
    extra = json.dumps({"bootstrap.servers": broker.bootstrap})
    _run(*airflow, "connections", "add", "kafka_default", "--conn-type", "kafka", "--conn-extra", extra, **environ)
    spark = ("--conn-type", "spark", "--conn-host", "local[2]")
    _run(*airflow, "connections", "add", "spark_default", *spark, **environ)
    assert "airflow-provider-floe" in _run(*airflow, "providers", "list", **environ)
    assert "0 problems" in _run(*airflow, "floe", "doctor", "--read-only", "orders", **environ)
    _run(*airflow, "dags", "test", "orders", cwd=tmp_path, **environ)
    assert _run(f"{own}/python", "-c", READ, **environ).split() == ["20", "1"]
