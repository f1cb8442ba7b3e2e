"""The task of ``floe.status``: every connector has a record, whatever is wrong with one of them."""

from __future__ import annotations

import json
import os
import pickle
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from floe.config import parse_connector
from floe.config.secrets.mask import learn
from floe.kafka.settings import KafkaSettings
from floe.operators.status import collector as module
from floe.operators.status import store
from floe.operators.status.collector import StatusOperator
from floe.side_by_side import apart, side_by_side
from floe.status import record_reader
from floe.status.record import StatusRecord
from floe.status.record_codec import PREFIX
from tests.support.connectors import MINIMAL
from tests.support.status.records import status


@pytest.fixture
def connectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of connectors: a and b are good, one is broken."""
    monkeypatch.setenv("FLOE_CACHE_DIR", "")
    monkeypatch.delenv("FLOE_CONNECTORS_DIR", raising=False)
    for name in ("a", "b"):
        (tmp_path / f"{name}.json").write_text(json.dumps({**MINIMAL, "name": name}))
    (tmp_path / "bad.json").write_text("{")
    monkeypatch.setattr(module, "resolved", lambda connector: connector)
    monkeypatch.setattr(module, "kafka_settings", lambda _: None)
    monkeypatch.setattr(record_reader, "collect_record", lambda one, *_: StatusRecord(status(name=one.name)))
    monkeypatch.setattr(module, "apart", lambda jobs, threads, until, *_: side_by_side(jobs, threads, until))
    return tmp_path


def crashing_look_up(name: str) -> StatusRecord:
    """End the process, for the connector a, as a client of a store does; with a secret in what it says."""
    if name == "a":
        os.write(2, b"terminate called with CANARY-of-a-broker\n")
        os.abort()
    return StatusRecord(status(name=name))


def run(folder: Path) -> dict[str, Any]:
    return StatusOperator(task_id="collect", default_folder=folder).execute({})  # type: ignore[no-any-return]


def test_each_connector_has_a_record(connectors: Path, variables: Any) -> None:
    variables.values[f"{PREFIX}gone"] = "x"
    result = run(connectors)
    assert variables.values.keys() == {f"{PREFIX}{name}" for name in ("a", "b", "bad")}
    assert (result["kept"], list(result["wrong"])) == (3, ["bad"])
    bad = store.load("bad")
    assert bad is not None and bad.status.problems[0].startswith("bad.json is broken: ")


def test_connection_that_is_missing_is_a_problem(
    connectors: Path, variables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(connector: Any) -> None:
        if connector.name == "a":
            msg = "no connection"
            raise RuntimeError(msg)

    monkeypatch.setattr(module, "kafka_settings", missing)
    run(connectors)
    one, other = store.load("a"), store.load("b")
    assert one is not None and one.status.problems == ("RuntimeError: no connection",)
    assert one.status.group_id == "connect-a"
    assert other is not None and other.status.problems == ()


def test_broker_that_hangs_keeps_no_other_waiting(
    connectors: Path, variables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = threading.Event()

    def collect(connector: Any, *_: Any) -> StatusRecord:
        if connector.name == "a":
            release.wait(30)
        return StatusRecord(status(name=connector.name))

    monkeypatch.setattr(record_reader, "collect_record", collect)
    monkeypatch.setattr(module, "SECONDS", 1.0)
    run(connectors)
    release.set()
    one, other = store.load("a"), store.load("b")
    assert one is not None and "did not answer within 1 s" in one.status.problems[0]
    assert other is not None and other.status.problems == ()


def test_connectors_that_did_not_answer_are_asked_last(
    connectors: Path, variables: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def collect(connector: Any, *_: Any) -> StatusRecord:
        asked.append(connector.name)
        return StatusRecord(status(name=connector.name))

    monkeypatch.setattr(record_reader, "collect_record", collect)
    monkeypatch.setattr(module, "THREADS", 1)
    store.save(record_reader.unknown_record("a", "connect-a", ["away"], None))
    run(connectors)
    assert asked == ["b", "a"]


def test_store_that_fails_fails_no_task(connectors: Path, variables: Any) -> None:
    variables.broken = OSError("no API server")
    assert run(connectors)["kept"] == 0


def test_connector_that_ends_its_process_is_its_own_problem(
    connectors: Path, variables: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    learn({"sasl.password": "CANARY-of-a-broker"})
    monkeypatch.setattr(module, "apart", apart)
    monkeypatch.setattr(module, "SECONDS", 300.0)  # of a busy machine
    monkeypatch.setattr(module, "_job", lambda file, _: partial(crashing_look_up, file.name))
    run(connectors)
    records = {name: store.load(name) for name in ("a", "b", "bad")}
    assert "ended the process by signal SIGABRT" in records["a"].status.problems[0]  # type: ignore[union-attr]
    assert records["b"].status.problems == records["bad"].status.problems == ()  # type: ignore[union-attr]
    assert "terminate called with" in caplog.text
    assert "CANARY" not in caplog.text


def test_look_up_of_a_connector_goes_to_a_child_process() -> None:
    given = {**MINIMAL, "errors.tolerance": "all", "floe.deadletter.table": "db.dead", "topics": "t", "tasks.max": "3"}
    connector = parse_connector(given)
    settings = KafkaSettings.of(connector, {"bootstrap.servers": "127.0.0.1:1"})
    job = partial(record_reader.collect_record, connector, settings, StatusRecord(status(name="a")))
    assert pickle.loads(pickle.dumps(job)).args == job.args  # noqa: S301 - its own
