"""An extension, from a topic to a table, by drivers and workers of Spark: only its driver has it installed."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from floe.config import extensions
from floe.model.exceptions import CodeChanged
from floe.operators.spark import code_archive
from floe.operators.write import WriteFilesOperator
from stack.services.spark_connect import ConnectServer
from stack.settings import free_port
from tests.support.extensions import NAME, USES, installed_example, list_extensions
from tests.support.keys import KEY_TEXT
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.task_instance import TaskInstance

__all__ = ["installed_example"]

KEYS: dict[str, Any] = {**USES, "floe.deadletter.table": "db.letters"}
LINES = [b"id=1", b"id=2 do=go", b"id=3 do=drop", b"id=4 do=refuse", b"no pair"]
ROWS = [{"id": "1", "mark": None, "label": "x"}, {"id": "2", "mark": "seen", "label": "x"}]


class Airflows(TaskInstance):
    """A task instance that takes what the task leaves."""

    def xcom_push(self, key: str, value: Any) -> None:
        """Keep nothing of it."""


@pytest.fixture
def extended(pipeline: MakePipeline, installed_example: Path, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """A connector that uses what the example declares, with records of it."""
    monkeypatch.syspath_prepend(str(installed_example))
    list_extensions(monkeypatch, NAME)
    one = pipeline(**KEYS)
    kafka = {"conn_type": "kafka", "extra": {"bootstrap.servers": one.bootstrap}}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps(kafka))
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    monkeypatch.setenv("FLOE_SECRET_KEY", KEY_TEXT)
    one.produce(LINES)
    return one


def submit(one: Pipeline, **env: str) -> None:
    plan = one.plan()
    write = WriteFilesOperator(task_id="write", connector=one.connector, env_vars=env)
    write.execute({"ti": Airflows(plan)})  # type: ignore[arg-type]
    one.commit(plan)


def rows(one: Pipeline) -> list[dict[str, Any]]:
    found = one.table().scan(selected_fields=("id", "mark", "label")).to_arrow().to_pylist()
    return sorted(found, key=lambda row: str(row["id"]))


def test_local_spark_runs_an_extension(
    extended: Pipeline, installed_example: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    driver = tmp_path / "python-with-the-example"
    driver.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{installed_example}" exec {sys.executable} "$@"\n')
    driver.chmod(driver.stat().st_mode | stat.S_IXUSR)
    submit(extended, PYSPARK_DRIVER_PYTHON=str(driver))
    assert rows(extended) == ROWS
    assert extended.column("stage", "db.letters") == ["transform", "value_converter"]
    (snapshot,) = extended.table().metadata.snapshots
    assert snapshot.summary is not None
    assert '"floe_example":[1,"' in snapshot.summary["floe.code"].replace(" ", "")


def test_workers_of_a_connect_server_get_the_present_code(
    extended: Pipeline, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    server = ConnectServer(tmp_path, free_port(), token="a-token")
    connection = {"conn_type": "spark_connect", "host": "localhost", "port": server.port, "password": "a-token"}
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps(connection))
    server.start()
    try:
        submit(extended)
    finally:
        server.stop()
    assert rows(extended) == ROWS


def test_code_that_changes_after_the_plan_is_not_written_until_a_new_run(
    extended: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = extended.plan()
    present = extended.connector.extension_sources

    def changed(self: Any) -> Any:
        return {name: type(one)({**one.files, "floe_example/more.py": "X = 1"}) for name, one in present().items()}

    patch = pytest.MonkeyPatch()
    patch.setattr(type(extended.connector), "extension_sources", changed)
    patch.setattr(code_archive, "write_job", lambda: pytest.fail("Spark was started"))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    write = WriteFilesOperator(task_id="write", connector=extended.connector)
    with pytest.raises(CodeChanged, match=r"the code of the extension 'floe_example' has version 1 and hash .* now"):
        write.execute({"ti": Airflows(plan)})  # type: ignore[arg-type]
    patch.undo()
    extended.run()
    assert rows(extended) == ROWS


def test_extension_that_is_gone_stops_the_connector_until_it_is_back(
    extended: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    extended.run()
    extended.produce([b"id=5"])
    monkeypatch.delenv(extensions.VARIABLE)
    with pytest.raises(Exception, match="is no converter that floe knows"):
        extended.changed()
    list_extensions(monkeypatch, NAME)
    extended.changed().run()
    assert [row["id"] for row in rows(extended)] == ["1", "2", "5"]
