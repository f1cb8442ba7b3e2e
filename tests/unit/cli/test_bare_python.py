"""``check`` and ``keys`` need nothing but Python itself; the other commands are in the help all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from floe.cli.parser import BROKEN_PIPE
from tests.support.connectors import MINIMAL
from tests.support.repository import ROOT


def bare(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line by an isolated Python without site-packages, in an empty folder and environment."""
    program = (
        f"import sys, runpy; sys.path.insert(0, {str(ROOT / 'plugins')!r}); sys.argv = ['floe', *sys.argv[1:]]; "
        "runpy.run_module('floe', run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", program, *arguments]
    environ = {"PATH": os.environ["PATH"], "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def pizzas(tmp_path: Path) -> Path:
    path = tmp_path / "pizzas.json"
    path.write_text(json.dumps(MINIMAL))
    return path


def test_check_and_keys_need_nothing_but_python(pizzas: Path, tmp_path: Path) -> None:
    checked = bare("check", str(pizzas), folder=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith(f"OK {pizzas}: connector pizzas")
    assert checked.stderr == "", "the deployment key is the workers', not of who checks a file"
    as_json = bare("check", "--json", str(tmp_path), folder=tmp_path)
    assert json.loads(as_json.stdout)[0]["name"] == "pizzas"
    keys = bare("keys", "iceberg.control.topic", folder=tmp_path)
    assert keys.stdout.startswith("iceberg.control.topic  (string, default 'control-iceberg', class file)")


def test_help_is_printed_by_bare_python(tmp_path: Path) -> None:
    for command in ((), ("check",), ("doctor",), ("status",), ("keys",), ("query",)):
        done = bare(*command, "--help", folder=tmp_path)
        assert done.returncode == 0 and "Exit code: 0 all is well, 1 a problem" in " ".join(done.stdout.split())


def test_command_names_the_package_that_it_misses(pizzas: Path, tmp_path: Path) -> None:
    done = bare("doctor", str(pizzas), folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: doctor needs what airflow-provider-floe requires, and this Python has no ")


@pytest.mark.parametrize(
    "wrong", [(), ("repair",), ("status", "--watch", "0"), ("status", "--commits", "0"), ("doctor", "no-such")]
)
def test_wrong_command_line_is_code_2(wrong: tuple[str, ...], tmp_path: Path) -> None:
    assert bare(*wrong, folder=tmp_path).returncode == 2


def test_output_that_nobody_reads_ends_the_command_quietly(tmp_path: Path) -> None:
    program = (
        f"import sys, runpy; sys.path.insert(0, {str(ROOT / 'plugins')!r}); sys.argv = ['floe', 'keys']; "
        "runpy.run_module('floe', run_name='__main__')"
    )
    command = [sys.executable, "-I", "-S", "-c", program]
    reader, writer = os.pipe()
    os.close(reader)  # before anything is written: output that fits into the pipe would be no error
    try:
        done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (BROKEN_PIPE, b"")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["status", "--commits", "x"], "'x' is no number from 1 to 999999"),
        (["status", "--commits", "0"], "'0' is no number"),
        (["status", "--watch", "soon"], "'soon' is no number of seconds from 1 to 86400"),
        (["status", "--watch", "nan"], "'nan' is no number of seconds"),
        (["frobnicate"], "choose from"),
    ],
)
def test_wrong_command_line_says_what_is_wrong(arguments: list[str], text: str, tmp_path: Path) -> None:
    done = bare(*arguments, folder=tmp_path)
    assert done.returncode == 2 and text in done.stderr
