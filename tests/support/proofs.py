"""Proofs that take hours go on where they stopped: what has passed on the same files is not run again.

A plugin of pytest, loaded by ``make proofs``. What passed is in a file below ``.floe/proofs``, named for the content of the
code and of its tests: any change begins at the start.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from stack.settings import REPOSITORY

FOLDER = "FLOE_PROOFS"
"""The variable that names another folder for the files."""

CODE = ("plugins", "spark_jobs", "stack", "tests", "constraints.txt")
_NOTHING_LEFT = 5  # pytest's exit code where no test was run


def pytest_configure(config: pytest.Config) -> None:
    """Note what passes, in the process that hears of all results."""
    config.pluginmanager.register(Passed(record(), listens=not hasattr(config, "workerinput")))


def record() -> Path:
    """Return the file for the code as it is now."""
    folder = Path(os.environ.get(FOLDER) or REPOSITORY / ".floe" / "proofs")
    return folder / fingerprint([REPOSITORY / name for name in CODE])


def fingerprint(roots: list[Path]) -> str:
    """Return a hash of files, and of all that folders contain but bytecode."""
    digest = hashlib.sha256()
    found = [path for root in roots for path in ([root] if root.is_file() else sorted(root.rglob("*")))]
    for path in found:
        if path.is_file() and path.suffix != ".pyc":
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(REPOSITORY)} {content}\n".encode())
    return digest.hexdigest()[:16]


class Passed:
    """What has passed, by the id of the test."""

    def __init__(self, file: Path, *, listens: bool) -> None:
        self._file = file
        self._listens = listens
        self._before = set(file.read_text().splitlines()) if file.exists() else set()
        self._failed: set[str] = set()
        self._left_out = 0

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Leave out what has passed before."""
        done = [item for item in items if item.nodeid in self._before]
        if done:
            self._left_out = len(done)
            items[:] = [item for item in items if item.nodeid not in self._before]
            config.hook.pytest_deselected(items=done)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test once it has passed to its very end."""
        if not report.passed:
            self._failed.add(report.nodeid)
        elif self._listens and report.when == "teardown" and report.nodeid not in self._failed:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("a") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Call it a success if nothing was left to run."""
        if session.exitstatus == _NOTHING_LEFT and self._before:
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was left out, and by which file."""
        if self._before:
            terminalreporter.write_line(f"{len(self._before)} passed before on the same code: {self._file}")
