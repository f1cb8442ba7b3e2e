"""Sessions of a Spark Connect server: each gets the archive once."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.connect.session import SparkSession

from floe.operators.spark import code_archive
from floe.operators.spark.connect_session import CONF, HAS_ARCHIVE, Session, open_session
from stack.services.spark_connect import ConnectServer
from stack.settings import free_port


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    one = ConnectServer(tmp_path_factory.mktemp("connect"), free_port(), warm=True)
    one.start()
    yield one
    one.stop()


@pytest.fixture
def uploads(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The archives that were sent to the server."""
    there = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": server.port}
    monkeypatch.setenv("AIRFLOW_CONN_HERE", json.dumps(there))
    sent: list[str] = []
    real = SparkSession.addArtifacts

    def noted(session: SparkSession, *paths: str, **kinds: Any) -> None:
        sent.extend(Path(path).name for path in paths)
        real(session, *paths, **kinds)

    monkeypatch.setattr(SparkSession, "addArtifacts", noted)
    return sent


def version_in_worker(session: Session) -> str:
    """Return where a worker has floe from."""

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        import floe_job.task.read_task

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"file": [floe_job.task.read_task.__file__]})

    (row,) = session.spark.range(0, 1, 1, 1).mapInArrow(look, "file string").collect()
    return str(row[0])


def test_a_session_gets_its_archive_once(uploads: list[str], server: ConnectServer, tmp_path: Path) -> None:
    archive = code_archive.archive(tmp_path)
    for _ in range(2):
        session = open_session("here", archive)
        assert archive.name in version_in_worker(session)
        assert {key: session.spark.conf.get(key) for key in CONF} == CONF
        session.close()
    assert uploads == [archive.name]

    other = code_archive.archive(tmp_path, {"pizza_rules.py": "PRICE = 9\n"})
    session = open_session("here", other)
    assert other.name in version_in_worker(session)
    session.close()
    assert uploads == [archive.name, other.name]
    sent = {one.name for one in (archive, other)}
    assert not sent & {Path(entry).name for entry in sys.path}, "a process that this one starts finds all of floe"

    server.stop()
    server.start()
    session = open_session("here", archive)
    assert archive.name in version_in_worker(session)
    session.close()
    assert uploads == [archive.name, other.name, archive.name]


def test_an_upload_that_failed_is_made_again(
    uploads: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = code_archive.archive(tmp_path, {"pizza_rules.py": "PRICE = 10\n"})
    with monkeypatch.context() as patch:
        patch.setattr(SparkSession, "addArtifacts", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            open_session("here", archive)
    session = open_session("here", archive)
    assert session.spark.conf.get(HAS_ARCHIVE) == archive.name
    session.close()
    assert uploads == [archive.name]
