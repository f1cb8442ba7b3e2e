"""A program of the benchmark is driven by lines, and says why it ended."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench.program import Program

ECHOES = """
import sys
print("ready", flush=True)
for line in sys.stdin:
    print("beside the point")
    print("failed" if "fail" in line else '{"said": ' + line.strip() + "}", flush=True)
print("it has ended", file=sys.stderr)
"""
FAILS = "import sys; sys.exit('no broker')"


def program(tmp_path: Path, code: str) -> list[str]:
    file = tmp_path / "program.py"
    file.write_text(code)
    return [str(file)]


def test_a_program_answers_lines_until_its_input_ends(tmp_path: Path) -> None:
    with Program.of(program(tmp_path, ECHOES), os.environ, tmp_path / "log") as running:
        running.write_line("run", 1)
        assert running.read_result() == {"said": ["run", 1]}
    assert running.process.returncode == 0
    assert (tmp_path / "log").read_text() == "it has ended\n"


def test_a_step_that_failed_is_an_error(tmp_path: Path) -> None:
    with (
        Program.of(program(tmp_path, ECHOES), os.environ, tmp_path / "log") as running,
        pytest.raises(RuntimeError, match="the end of its log"),
    ):
        running.write_line("fail")
        running.read_result()


def test_a_program_that_does_not_start_says_why(tmp_path: Path) -> None:
    with (
        pytest.raises(RuntimeError, match="no broker"),
        Program.of(program(tmp_path, FAILS), os.environ, tmp_path / "log"),
    ):
        raise AssertionError
