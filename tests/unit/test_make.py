"""What `make test` and its neighbours run, and that CI runs no more and no less."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.support.repository import ROOT

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="no make here")


def commands(target: str) -> list[str]:
    """Return what a target would run, one line each."""
    command = ["make", "--no-print-directory", "-n", target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_make_test_installs_checks_and_tests_in_this_order() -> None:
    found = "\n".join(commands("test"))
    order = (
        r"\.ci/programs",
        r"stack\.venv --dev",
        r"ruff check",
        r"ruff format --check",
        r"mypy",
        r"lint-imports",
        r"pytest",
    )
    at = [re.search(pattern, found) for pattern in order]
    assert all(at), found
    starts = [match.start() for match in at if match]
    assert starts == sorted(starts), found


def test_readme_names_targets_that_there_are_and_the_one_that_tests() -> None:
    named = set(re.findall(r"(?:^[* ]*|`)make ([a-z-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    there = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert "test" in named and named <= there


def test_ci_runs_make_test_alone() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    run = [line for line in lines if line and not line.startswith(("#", "set ", "cd "))]
    assert run == ["make test"]


@pytest.mark.parametrize(
    ("target", "marked"), [("test-full", "full or hypothesis"), ("proofs", "hours"), ("faults", "")]
)
def test_long_tests_are_chosen_by_their_markers(target: str, marked: str) -> None:
    assert f'-m "{marked}"' in commands(target)[-1].replace("-m hours", '-m "hours"')


def test_programs_do_nothing_where_all_is_there() -> None:
    if not shutil.which("java") or not shutil.which("postgres"):
        pytest.skip("Java or PostgreSQL would be installed")
    done = subprocess.run([str(ROOT / ".ci" / "programs")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
