"""``make check``: what it prints, its exit code, and what it needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import floe
from floe.config.__main__ import main
from floe.config.check import report
from floe.config.connector_files import read_file
from tests.support.repository import ROOT

Write = Callable[..., Path]
Document = Callable[..., dict[str, object]]

# No network, and no package but those of Python itself.
OFFLINE = """
import runpy, sys
def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(event)
sys.addaudithook(refuse)
sys.argv[0] = "check"
try:
    runpy.run_module("floe.config", run_name="__main__")
finally:
    known = {*sys.stdlib_module_names, "floe", "__main__"}
    foreign = {name.partition(".")[0] for name in sys.modules} - known
    print("foreign:", *sorted(name for name in foreign if not name.startswith("_")))
"""


def rows(out: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of the table that was printed, by key."""
    lines = [re.split(r"  +", line.strip()) for line in out.splitlines() if line.startswith("  ")]
    return {key: tuple(rest) for key, *rest in lines if rest}


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Run the command on paths; the exit code and what it prints."""

    def run(*arguments: Any) -> tuple[int, str]:
        code = main(["check", *map(str, arguments)])
        return code, capsys.readouterr().out

    return run


def test_check_prints_a_row_per_key_with_its_source_and_class(check: Any, write: Write, document: Document) -> None:
    path = write("x.json", document({"tasks.max": "2", "iceberg.table.rpc.pizzas.commit-branch": "b"}))
    code, out = check(path)
    found = rows(out)
    assert code == 0 and out.startswith(f"OK {path}: connector pizzas, 0 warnings\n")
    assert found["key"] == ("value", "from", "class")
    assert found["tasks.max"] == ("2", "file", "live")
    assert found["topics"] == ("completed-pizzas", "file", "replay")
    assert found["iceberg.control.commit.interval-ms"] == ("300000", "default", "live")
    assert found["iceberg.connect.group-id"] == ("connect-pizzas", "default", "file")
    assert found["iceberg.coordinator.transactional.prefix"] == ("(empty)", "default", "file")


def test_check_prints_the_defaults_that_hold(check: Any, write: Write, document: Document) -> None:
    path = write("named-by-file.json", document({"floe.deadletter.table": "db.letters"}, without=("name",)))
    found = rows(check(path)[1])
    assert found["name"][:2] == ("named-by-file", "default")
    assert found["errors.tolerance"][:2] == ("all", "default")
    assert found["floe.route.on-unroutable"][:2] == ("dead-letter", "default")
    assert found["consumer.override.auto.offset.reset"][:2] == ("earliest", "default")


def test_check_prints_warnings_first_and_hides_secrets(check: Any, write: Write, document: Document) -> None:
    path = write("x.json", document({"iceberg.catalog.s3.secret-access-key": "canary", "confluent.x": "pass"}))
    code, out = check(path)
    assert code == 0 and "canary" not in out
    assert out.splitlines()[0].endswith("1 warning")
    assert out.splitlines()[1].startswith("  WARNING 'confluent.x' is no key of floe")
    assert rows(out)["iceberg.catalog.s3.secret-access-key"][:2] == ("<hidden>", "file")


def test_a_warning_is_an_error_to_strict(check: Any, write: Write, document: Document) -> None:
    fine, warned = write("a.json"), write("b.json", document({"name": "b", "confluent.x": "1"}))
    assert check("--strict", fine)[0] == 0
    code, out = check("--strict", fine, warned)
    assert code == 1 and out.endswith("ERROR 1 warning above, which --strict takes for errors\n")


def test_a_note_is_no_error_to_strict(check: Any, write: Write, document: Document) -> None:
    keys = {
        "transforms": "cdc",
        "transforms.cdc.type": "org.apache.iceberg.connect.transforms.DebeziumTransform",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    code, out = check(write("x.json", document(keys)), "--strict")
    assert (code, out.count("  NOTE transform 'cdc' makes rows of updates and deletes")) == (0, 1), out
    assert "connector pizzas, 0 warnings" in out


@pytest.mark.parametrize("key", ["errors.tolerence", "task.max", "consumer.overide.x", "topic", "value.convertor"])
def test_a_misspelt_key_is_an_error(check: Any, write: Write, document: Document, key: str) -> None:
    code, out = check(write("x.json", document({key: "x"})))
    assert code == 1 and f"unknown key {key!r}; the nearest known key is" in out


def test_check_prints_all_errors_of_all_files(check: Any, write: Write) -> None:
    paths = [write("a.json", "{"), write("b.json", {"name": "b"}), write("c.json")]
    code, out = check(*paths)
    assert code == 1
    assert "line 1, column 2" in out and "Must specify table name(s)" in out and "OK " in out


def test_check_takes_a_folder_and_an_empty_one_is_not_fine(check: Any, write: Write, tmp_path: Path) -> None:
    assert check(tmp_path) == (1, "no connector files\n")
    write("a.json")
    assert check(tmp_path)[0] == 0


def test_files_that_share_a_name_are_errors_to_check(check: Any, write: Write) -> None:
    code, out = check(write("a.json"), write("b.json"))
    assert code == 1 and out.count("'pizzas' is used by several connector files") == 2


def test_check_sends_no_control_characters(check: Any, write: Write, document: Document) -> None:
    sequence = "\x1b]0;gone\x07"
    _, good = check(write("a.json", document({f"acme.{sequence}": sequence})))
    _, bad = check(write("b.json", document({f"iceberg.{sequence}": sequence})))
    assert "\x1b" not in good + bad and "\x07" not in good + bad
    assert r"\x1b" in good and r"\x1b" in bad


def test_check_needs_python_only_and_no_network(write: Write) -> None:
    environment = {"PYTHONPATH": str(Path(floe.__file__).parents[1]), "PATH": os.defpath}
    command = [sys.executable, "-S", "-s", "-c", OFFLINE, "check", str(write("a.json"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("OK "), done.stderr
    assert done.stdout.splitlines()[-1] == "foreign:"


def test_make_check_needs_no_setup(write: Write, tmp_path: Path) -> None:
    """A copy of what it needs, without .venv; the Python that make finds is a bare one."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("no make here")
    place = tmp_path / "repository"
    shutil.copytree(ROOT / "plugins", place / "plugins", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Makefile", place)
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec "{Path(sys.base_prefix) / "bin" / "python3"}" -S -s "$@"\n')
    python.chmod(0o755)
    good, warned = write("a.json"), write("b.json", '{"name": "b", "confluent.x": "1",')

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [make, f"PYTHON={python}", "check", *arguments]
        return subprocess.run(command, cwd=place, env={"PATH": os.defpath}, capture_output=True, text=True, check=False)

    done = run(f"CONNECTOR={good}")
    assert done.returncode == 0 and done.stdout.startswith("OK "), done.stderr
    both = run(f"CONNECTOR={good} {warned}", "STRICT=1")
    assert both.returncode == 2 and "no valid JSON" in both.stdout
    assert not (place / ".venv").exists()


def test_check_warns_of_secrets_that_are_too_short(check: Any, write: Write, document: Document) -> None:
    path = write(
        "x.json",
        document({"iceberg.kafka.sasl.password": "p1x", "iceberg.catalog.s3.secret-access-key": "long-enough"}),
    )
    code, out = check(path)
    assert code == 0
    (warning,) = (line for line in out.splitlines() if "WARNING" in line)
    assert "'iceberg.kafka.sasl.password' has fewer than 6 characters" in warning
    assert "p1x" not in out
    assert check("--strict", path)[0] == 1


def test_check_warns_of_short_secrets_in_the_environment(
    write: Write, document: Document, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__TOKEN", "p1x")
    assert main(["check", str(write("x.json", document()))]) == 0
    message = capsys.readouterr()
    assert "'PYICEBERG_CATALOG__LAKE__TOKEN' has fewer than 6 characters" in message.err
    assert "p1x" not in message.out + message.err


def test_report_is_of_the_file_as_it_was_read(write: Write, document: Document) -> None:
    path = write("a.json", document({"tasks.max": "3"}, ("name",)))
    file = read_file(path)
    path.unlink()
    os.mkfifo(path)  # reading it again would wait
    found = rows(report(file))
    assert found["tasks.max"][:2] == ("3", "file") and found["name"][:2] == ("a", "default")
