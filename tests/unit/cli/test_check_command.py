"""``check`` and ``keys``: what they print, as text and as JSON, and their exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from floe.cli import doctor
from floe.cli.parser import main
from floe.config.keys.lookup import KEYS
from floe.doctor.check import Finding, Level
from tests.support.connectors import MINIMAL

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; its exit code and what it prints."""

    def one(*arguments: object) -> tuple[int, str]:
        return main([str(argument) for argument in arguments]), capsys.readouterr().out

    return one


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a connector file with keys over the smallest one."""

    def make(name: str = "pizzas.json", **keys: object) -> Path:
        path = tmp_path / name
        path.write_text(json.dumps({**MINIMAL, **keys}))
        return path

    return make


def test_check_as_json_has_keys_warnings_and_no_secret(run: Run, write: Any) -> None:
    path = write(**{"iceberg.catalog.s3.secret-access-key": "canary-of-json", "confluent.x": "1"})
    code, out = run("check", "--json", path)
    (one,) = json.loads(out)
    assert (code, one["name"], one["ok"], len(one["warnings"])) == (0, "pizzas", True, 1)
    assert {"key": "topics", "value": "completed-pizzas", "from": "file", "class": "replay"} in one["keys"]
    assert "canary" not in out and run("check", "--json", "--strict", path)[0] == 1


def test_check_as_json_is_ok_where_the_exit_code_is_0_only(run: Run, write: Any, tmp_path: Path) -> None:
    fine = write("a.json", topics="a", **{"iceberg.connect.group-id": "a"})
    warned = write("b.json", **{"confluent.x": "1"})
    for path, name in ((fine, "a"), (warned, "b")):
        path.write_text(path.read_text().replace('"pizzas"', f'"{name}"'))
    for options, oks in ((("--json",), [True, True]), (("--json", "--strict"), [True, False])):
        code, out = run("check", *options, fine, warned)
        assert [one["ok"] for one in json.loads(out)] == oks
        assert code == int(not all(oks))
    (empty := tmp_path / "empty").mkdir()
    code, out = run("check", "--json", empty)
    assert (code, json.loads(out)) == (1, [{"ok": False, "problems": ["no connector files"]}])


def test_check_as_json_has_the_problems_of_broken_files(run: Run, write: Any, tmp_path: Path) -> None:
    path = write(**{"topics": None, "iceberg.tabels": "x"})
    code, out = run("check", "--json", path)
    assert code == 1 and any("iceberg.tabels" in problem for problem in json.loads(out)[0]["problems"])
    code, out = run("check", "--json", tmp_path / "none")
    assert code == 1 and json.loads(out)[0]["ok"] is False


def test_check_with_connect_diagnoses_read_only(run: Run, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []

    def findings(_: object, *, write: bool) -> list[Finding]:
        asked.append(write)
        return [Finding("topics", Level.PROBLEM, "topic 'x' does not exist", "create it")]

    path = write()
    assert run("check", path)[0] == 0
    monkeypatch.setattr(doctor, "_findings", findings)
    code, out = run("check", "--connect", path)
    assert code == 1 and out.startswith("OK ") and "topics        topic 'x' does not exist" in out
    code, out = run("check", "--connect", "--json", path)
    assert code == 1 and json.loads(out)[0]["findings"][0]["remedy"] == "create it"
    assert asked == [False, False]


@pytest.mark.parametrize(
    ("pattern", "first"),
    [
        ("topics", "topics"),
        ("commit.timeout", "iceberg.control.commit.timeout-ms"),
        ("*.commit.threads", "iceberg.control.commit.threads"),
        ("Tables that are committed at once", "iceberg.control.commit.threads"),
        ("iceberg.table.db.t.partition-by", "iceberg.table.<table>.partition-by"),
    ],
)
def test_keys_are_found_by_name_glob_meaning_and_use(run: Run, pattern: str, first: str) -> None:
    code, out = run("keys", pattern)
    assert code == 0 and out.startswith(f"{first}  (")


def test_keys_without_a_pattern_are_all_and_unknown_is_code_1(run: Run) -> None:
    assert len(json.loads(run("keys", "--json")[1])) == len(KEYS)
    code, out = run("keys", "no such key \x1b")
    assert code == 1 and out == "no key matches 'no such key \\x1b'\n"
    assert run("keys", "--json", "no such key") == (1, "[]\n")
