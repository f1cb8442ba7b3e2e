"""The diagnosis of a connector on a real broker and a SQL catalog: all is well, then one thing after the other is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from floe.catalogs.client import CatalogClient
from floe.cli.parser import main
from floe.config.connection_fields import ConnectionFields
from floe.doctor.check import Finding, Level
from floe.doctor.diagnosis import diagnose
from floe.kafka.settings import KafkaSettings
from stack.settings import free_port
from tests.support.runs.mishaps import ids
from tests.support.runs.pipeline import MakePipeline, Pipeline

SPARK = ConnectionFields("spark_default", "spark", "local[2]")
OF_MACHINE = ("java", "packages", "disks")
"""What the machine that runs the tests may lack."""


def findings(pizzas: Pipeline, *, write: bool = True) -> list[Finding]:
    return list(diagnose(pizzas.connector, pizzas.settings, write=write, spark=SPARK))


def bad(found: list[Finding]) -> dict[str, Finding]:
    """Return the warnings and problems, by check; of several, the first."""
    wrong = [one for one in found if one.level in (Level.WARNING, Level.PROBLEM) and one.name not in OF_MACHINE]
    return {one.name: one for one in reversed(wrong)}


def test_doctor_finds_what_is_wrong_and_nothing_else(
    pipeline: MakePipeline, topic: Callable[..., str], tmp_path: Path
) -> None:
    pizzas = pipeline(2)
    pizzas.produce(ids(0, 10))
    assert set(bad(findings(pizzas))) == {"control topic"}  # it does not exist before the first run
    pizzas.run()
    pizzas.produce(ids(10, 20))
    plan = pizzas.plan()
    pizzas.write(plan)
    found = findings(pizzas)
    assert bad(found) == {}
    assert {one.name for one in found if one.level is Level.NOT_CHECKED} == set()
    # the marker's time is the only one that is new enough
    assert "the clock of the brokers agrees" in next(one.text for one in found if one.name == "clocks")
    pizzas.commit(plan)  # the doctor has fenced nothing
    assert pizzas.column("id") == list(range(20))
    assert CatalogClient.of(pizzas.connector).names() == ["db.t"]

    missing = bad(findings(pizzas.changed(topics="no-such-topic")))
    assert set(missing) == {"topics"} and "topic 'no-such-topic' does not exist" in missing["topics"].text

    compacted = topic(name="control", cleanup_policy="compact")
    control = bad(findings(pizzas.changed(**{"iceberg.control.topic": compacted})))
    assert set(control) == {"control topic"} and "is compacted" in control["control topic"].text

    data = next(tmp_path.rglob("t/data"))
    data.rename(data.with_name("kept"))
    data.write_text("a file, where the folder has to be")
    warehouse = bad(findings(pizzas))
    assert set(warehouse) == {"warehouse"} and str(data) in warehouse["warehouse"].text

    pizzas.settings = KafkaSettings.of(pizzas.connector, {"bootstrap.servers": f"127.0.0.1:{free_port()}"})
    assert set(bad(findings(pizzas, write=False))) == {"brokers"}


def test_listener_that_clients_cannot_use_is_named(pipeline: MakePipeline, proxy_ports: tuple[int, int]) -> None:
    behind, front = proxy_ports  # of a listener that announces the port of a proxy, which is not there
    pizzas = pipeline()
    extra = {"bootstrap.servers": f"127.0.0.1:{behind}"}
    pizzas.settings = KafkaSettings.of(pizzas.connector, extra)
    wrong = bad(findings(pizzas, write=False))
    assert set(wrong) == {"listeners"} and f"announces 127.0.0.1:{front}, which from here" in wrong["listeners"].text
    pizzas.settings = KafkaSettings.of(pizzas.connector, extra | {"security.protocol": "SSL"})
    wrong = bad(findings(pizzas, write=False))
    assert set(wrong) == {"brokers"} and "speaks Kafka without TLS" in wrong["brokers"].text


def test_command_line_shows_doctor_and_status(
    pipeline: MakePipeline,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pizzas = pipeline()
    pizzas.produce(ids(0, 10))
    pizzas.run()
    pizzas.produce(ids(10, 15))
    extra = {"bootstrap.servers": pizzas.bootstrap}
    monkeypatch.setenv("AIRFLOW_CONN_KAFKA_DEFAULT", json.dumps({"conn_type": "kafka", "extra": extra}))
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", "host": "local[2]"}))
    path = tmp_path / "connector.json"
    path.write_text(json.dumps(dict(pizzas.connector.properties)))
    main(["doctor", "--json", str(path)])
    (found,) = json.loads(capsys.readouterr().out)
    assert {one["check"] for one in found["findings"] if one["level"] == "problem"} <= set(OF_MACHINE)
    assert main(["status", str(path), "--dead-letters"]) == 0
    out = capsys.readouterr().out
    assert "lag: 5 records in 1 of 1 partition" in out and "10 rows in " in out
    assert main(["check", "--json", "--connect", str(path)]) in (0, 1)
    assert json.loads(capsys.readouterr().out)[0]["findings"]
