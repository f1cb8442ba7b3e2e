"""A program of the benchmark that is driven by lines over its standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

ENDS_WITHIN = 60.0
FAILED = "failed"


@dataclass
class Program:
    """A running program; what it writes to standard error is in ``log``."""

    process: subprocess.Popen[str]
    log: Path

    @classmethod
    @contextmanager
    def of(cls, command: Sequence[str], environment: Mapping[str, str], log: Path) -> Iterator[Self]:
        """Start a Python program, wait until it is ready, and end it by the end of its input."""
        with log.open("w") as errors:
            process = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
                cwd=log.parent,
                text=True,
            )
        program = cls(process, log)
        try:
            program.read_line("ready")
            yield program
        finally:
            program.end()

    def write_line(self, *words: object) -> None:
        """Send a list as JSON. Raises RuntimeError with the end of the log if the program has ended."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def read_line(self, start: str) -> str:
        """Read on to the line that starts with ``start``. Raises RuntimeError with the end of the log if there is none."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(start):
                return line
            if line.startswith(FAILED):
                break
        raise self._ended()

    def read_result(self) -> dict[str, Any]:
        """Read on to a line of JSON, and return it."""
        found: dict[str, Any] = json.loads(self.read_line("{"))
        return found

    def end(self) -> None:
        """Close its input, at which it ends; end it if that takes too long."""
        assert self.process.stdin is not None
        with self.process:
            self.process.stdin.close()
            try:
                self.process.wait(ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                self.process.terminate()

    def _ended(self) -> RuntimeError:
        said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-10:]  # its folder is removed
        return RuntimeError("\n".join(["it ended early; the end of its log:", *said]))


def environment_of(tree: Path, **more: str) -> dict[str, str]:
    """Return the environment of a program that uses the floe of a tree."""
    folders = (str(tree / name) for name in ("plugins", "spark_jobs", "."))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(folders), **more}
