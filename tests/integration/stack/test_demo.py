"""`make demo`, `make up` and `make down`, as a user calls them, on ports and a folder of their own."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from stack.exceptions import PortTaken
from stack.jars import CACHE
from stack.local import Local
from stack.progress import wait_until
from stack.services.airflow import Airflow
from stack.settings import REPOSITORY, free_port


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "FLOE_STATE": str(tmp_path / "state"),
        "FLOE_JARS": str(CACHE),
        "KAFKA_PORT": str(free_port()),
        "KAFKA_CONTROLLER_PORT": str(free_port()),
        "AIRFLOW_PORT": str(free_port()),
        "SCHEMA_REGISTRY_PORT": str(free_port()),
        "S3_PORT": str(free_port()),
    }


def stack(command: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command of the stack to its end. One that takes too long is killed, and what it started is stopped."""
    arguments: dict[str, Any] = {"env": environment, "cwd": REPOSITORY, "capture_output": True, "text": True}
    try:
        return subprocess.run([sys.executable, "-m", "stack", command], timeout=900, check=False, **arguments)
    except subprocess.TimeoutExpired:
        subprocess.run([sys.executable, "-m", "stack", "down"], timeout=300, check=False, **arguments)
        raise


def left_over(folder: Path) -> list[str]:
    """Return the commands that still run with the state folder in their arguments or environment, after a while.

    A process that was killed may take seconds to go on a busy machine.
    """
    wait_until(lambda: not running_in(folder), 60)
    return running_in(folder)


def running_in(folder: Path) -> list[str]:
    found = []
    for process in psutil.process_iter():
        try:
            words = [*process.cmdline(), *process.environ().values()]
            if process.status() != psutil.STATUS_ZOMBIE and any(str(folder / "state") in word for word in words):
                found.append(" ".join(process.cmdline()))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def test_demo_moves_orders_in_two_runs_and_ends_all_processes(environment: dict[str, str], tmp_path: Path) -> None:
    done = stack("demo", environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rpc.pizzas: 1000 rows" in done.stdout
    assert "rpc.pizzas: 1500 rows" in done.stdout
    assert len(re.findall(r"append\s+added (1000|500) rows", done.stdout)) == 3
    assert left_over(tmp_path) == []


@pytest.mark.full
def test_demo_with_registry_fills_typed_columns_from_avro(environment: dict[str, str], tmp_path: Path) -> None:
    done = stack("demo", environment | {"REGISTRY": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"schema registry at http://127.0.0.1:{environment['SCHEMA_REGISTRY_PORT']}/apis/ccompat/v7" in done.stdout
    assert "rpc.pizzas_in_avro: 1000 rows" in done.stdout
    assert "rpc.pizzas_in_avro: 1500 rows" in done.stdout
    types = r"string +int +string +string +list<string> +decimal\(38, 2\) +timestamptz"
    assert len(re.findall(types, done.stdout)) == 2, done.stdout
    assert left_over(tmp_path) == []


@pytest.mark.full
def test_demo_on_s3_moves_orders_into_the_store(environment: dict[str, str], tmp_path: Path) -> None:
    done = stack("demo", environment | {"STORE": "s3"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"S3 store (in memory) at http://127.0.0.1:{environment['S3_PORT']}" in done.stdout
    assert "rpc.pizzas: 1000 rows" in done.stdout
    assert "rpc.pizzas: 1500 rows" in done.stdout
    assert not list((tmp_path / "state").glob("catalog.db*")), "its tables are gone"
    assert left_over(tmp_path) == []


@pytest.mark.full
def test_stack_on_s3_loses_its_tables_alone_and_remembers_its_ports(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """A connection, a topic and the password are there after `make down`; the demo's table is filled from its topic again."""
    later = {name: value for name, value in environment.items() if not name.endswith("_PORT")}
    try:
        done = stack("up", environment | {"STORE": "s3"})
        assert done.returncode == 0, done.stdout + done.stderr
        before = Local.of(later)
        before.airflow.rest.call("POST", "/api/v2/connections", {"connection_id": "mine", "conn_type": "http"})
        admin = AdminClient({"bootstrap.servers": before.broker.bootstrap})
        admin.create_topics([NewTopic("mine", 1)])["mine"].result(30)
        password = before.airflow.password()
        assert f"127.0.0.1:{environment['AIRFLOW_PORT']}" in stack("status", later).stdout

        done = stack("down", later)
        assert "The tables went with the S3 store" in done.stdout, done.stdout + done.stderr
        done = stack("up", later)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "dropped_tables" in done.stdout and "rpc.pizzas: 1000 rows" in done.stdout

        after = Local.of(later)
        assert (after.settings.ports, after.airflow.password()) == (before.settings.ports, password)
        assert after.airflow.rest.call("GET", "/api/v2/connections/mine")["conn_type"] == "http"
        topics = AdminClient({"bootstrap.servers": after.broker.bootstrap}).list_topics(timeout=20).topics
        assert {"mine", "completed-pizzas", "control-iceberg"} <= topics.keys()
    finally:
        stack("clean", environment)
    assert left_over(tmp_path) == []


@pytest.mark.full
def test_a_port_that_is_taken_while_airflow_starts_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stack.services.airflow.require_free", lambda *_: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # as a connection has it: no process answers there
        port = taken.getsockname()[1]
        airflow = Airflow(tmp_path / "state", port, REPOSITORY / "dags", REPOSITORY / "plugins")
        with pytest.raises(PortTaken, match=f"port {port} was taken while Airflow started: set AIRFLOW_PORT"):
            airflow.start()
    assert left_over(tmp_path) == []


@pytest.mark.parametrize("at", ["Kafka broker", "Airflow at"])
def test_ctrl_c_during_the_start_stops_what_was_started(environment: dict[str, str], tmp_path: Path, at: str) -> None:
    command = [sys.executable, "-m", "stack", "demo"]
    with subprocess.Popen(
        command, env=environment, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as demo:
        assert demo.stdout is not None
        next(line for line in demo.stdout if "…" in line and at in line)
        demo.send_signal(signal.SIGINT)
        demo.stdout.read()
    assert demo.returncode != 0
    assert left_over(tmp_path) == []
