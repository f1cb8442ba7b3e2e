"""``doctor``: a line for each finding, JSON, exit codes, and no secret in its output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from floe.cli import doctor
from floe.cli.doctor import line_of
from floe.cli.parser import main
from floe.doctor.check import Finding, Level
from stack.settings import free_port
from tests.support.canary import Canaries
from tests.support.connectors import MINIMAL
from tests.support.repository import ROOT

FINDINGS = [
    Finding("brokers", Level.OK, "b:9092 can be reached"),
    Finding("topics", Level.WARNING, "kept for 1 h", "increase retention.ms"),
    Finding("spark", Level.NOT_CHECKED, "not looked up"),
]
BROKEN = Finding("catalog", Level.PROBLEM, "no grant", "grant it")


@pytest.fixture
def pizzas(tmp_path: Path) -> Path:
    path = tmp_path / "pizzas.json"
    path.write_text(json.dumps(MINIMAL))
    return path


def findings(monkeypatch: pytest.MonkeyPatch, *more: Finding) -> list[bool]:
    asked: list[bool] = []

    def find(_: object, *, write: bool) -> list[Finding]:
        asked.append(write)
        return [*FINDINGS, *more]

    monkeypatch.setattr(doctor, "_findings", find)
    return asked


def test_doctor_prints_a_line_for_each_finding(
    monkeypatch: pytest.MonkeyPatch, pizzas: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = findings(monkeypatch)
    assert main(["doctor", str(pizzas)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "connector pizzas",
        "  ✓ brokers       b:9092 can be reached",
        "  ! topics        kept for 1 h → increase retention.ms",
        "  – spark         not looked up",
        "  0 problems, 1 warning, 1 not checked",
    ]
    findings(monkeypatch, BROKEN)
    assert main(["doctor", "--quiet", "--read-only", str(pizzas)]) == 1
    out = capsys.readouterr().out
    assert "  ✗ catalog       no grant → grant it\n  1 problem, 1 warning" in out and "brokers" not in out
    assert asked == [True]


def test_warnings_of_libraries_are_not_printed(
    monkeypatch: pytest.MonkeyPatch, pizzas: Path, recwarn: pytest.WarningsRecorder
) -> None:
    def find(*_: object, **__: object) -> list[Finding]:
        warnings.warn("no preferred file implementation", UserWarning, stacklevel=1)
        return FINDINGS

    monkeypatch.setattr(sys, "warnoptions", [])
    monkeypatch.setattr(doctor, "_findings", find)
    before = warnings.filters[:]
    assert main(["doctor", str(pizzas)]) == 0
    assert recwarn.list == [] and warnings.filters == before


def test_doctor_as_json(monkeypatch: pytest.MonkeyPatch, pizzas: Path, capsys: pytest.CaptureFixture[str]) -> None:
    findings(monkeypatch, BROKEN)
    assert main(["doctor", "--json", str(pizzas)]) == 1
    (one,) = json.loads(capsys.readouterr().out)
    assert one["connector"] == "pizzas" and len(one["findings"]) == 4
    assert one["findings"][-1] == {"check": "catalog", "level": "problem", "text": "no grant", "remedy": "grant it"}


def test_finding_without_symbols_is_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "has_symbols", lambda: False)
    assert line_of(BROKEN) == "  XX catalog       no grant -> grant it"


def test_broken_file_is_a_problem(pizzas: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pizzas.write_text("{")
    assert main(["doctor", str(pizzas)]) == 1
    assert "✗ file" in capsys.readouterr().out


def test_doctor_outside_of_airflow_shows_no_secret(tmp_path: Path) -> None:
    canaries = Canaries()
    secret = {name: canaries.plant(name) for name in ("broker", "catalog", "registry", "environment")}
    port = free_port()
    connector: dict[str, Any] = {
        **{key: value for key, value in MINIMAL.items() if key != "value.converter.schemas.enable"},
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": f"http://127.0.0.1:{port}",
        "iceberg.catalog.credential": f"floe:{secret['catalog']}",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": f"http://floe:{secret['registry']}@127.0.0.1:{port}",
    }
    path = tmp_path / "pizzas.json"
    path.write_text(json.dumps(connector))
    extra = {
        "bootstrap.servers": f"127.0.0.1:{port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "floe",
        "sasl.password": secret["broker"],
    }
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT / "plugins"),
        "PYTHONIOENCODING": "utf-8",
        "AIRFLOW_CONN_KAFKA_DEFAULT": json.dumps({"conn_type": "kafka", "extra": extra}),
        "PYICEBERG_CATALOG__ICEBERG__TOKEN": secret["environment"],
    }
    command = [sys.executable, "-m", "floe", "doctor", str(path)]
    done = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1, done.stderr
    assert f"✗ brokers       127.0.0.1:{port} cannot be reached: Connection refused" in done.stdout
    assert "✗ registry" in done.stdout and "✗ catalog" in done.stdout
    assert "– spark         the Airflow connection 'spark_default' was not looked up" in done.stdout
    assert "Traceback" not in done.stderr
    canaries.watch(lambda: [("stdout", done.stdout.encode()), ("stderr", done.stderr.encode())])
    assert canaries.seen() == []
