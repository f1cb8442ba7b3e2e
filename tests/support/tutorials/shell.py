"""A folder that looks like the repository, and a shell in it that runs what a page says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.repository import ROOT

LINKED = ("Makefile", "stack", "plugins", "spark_jobs", "deploy", "docs")
_DONE = "::done"


def checkout(folder: Path) -> None:
    """Make a folder look like the repository, so that a page's commands leave their files there."""
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    shutil.copytree(ROOT / "dags", folder / "dags", ignore=shutil.ignore_patterns("__pycache__"))


class Shell:
    """One bash: variables and functions of a block are there in the next. It ends at the first command that fails."""

    def __init__(self, folder: Path, environment: Mapping[str, str], scratch: Path) -> None:
        self._file = scratch / "block.sh"
        self._process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={**os.environ, **environment},
        )
        # what is installed is not this test's
        self.run('set -euo pipefail; make() { command make --old-file=setup "$@"; }')

    def run(self, text: str) -> str:
        """Run a block and return what it printed. Raises AssertionError with it if a command fails."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._file.write_text(text, encoding="utf-8")
        self._process.stdin.write(f"source {self._file} </dev/null\necho; echo {_DONE}\n")
        self._process.stdin.flush()
        printed = []
        for line in self._process.stdout:
            if line.strip() == _DONE:
                return "".join(printed)
            printed.append(line)
        message = f"the shell ended with {self._process.wait(60)} in:\n{text}\n{''.join(printed)}"
        raise AssertionError(message)

    def close(self) -> None:
        """End the shell."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
