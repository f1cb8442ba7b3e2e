"""Programs of other languages that tests run: made once, in a folder that all tests of this checkout share."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from stack.exceptions import DownloadFailed, Unsuitable
from stack.settings import REPOSITORY

TOOLS = REPOSITORY / ".floe" / "tools"


def go_program(module: str, version: str) -> Path:
    """Return the program of a module, built where it is missing, which takes minutes. Raises Unsuitable, DownloadFailed."""
    name = module.rpartition("/")[2]

    def build(made: Path) -> None:
        go = _found("go", f"install Go to test on {name} {version}")
        _run([go, "install", f"{module}@{version}"], f"{name} {version}", GOBIN=str(made))

    return _made(f"{name}-{version}", build) / name


def npm_package(name: str, version: str) -> Path:
    """Return the folder of the programs of an npm package. Raises Unsuitable, DownloadFailed."""

    def build(made: Path) -> None:
        npm = _found("npm", f"install node to test on {name} {version}")
        command = [npm, "install", "--no-fund", "--no-audit", "--prefix", str(made), f"{name}@{version}"]
        _run(command, f"{name} {version}")

    return _made(f"{name}-{version}", build) / "node_modules" / ".bin"


def _made(name: str, build: Callable[[Path], None]) -> Path:
    folder = TOOLS / name
    if folder.is_dir():
        return folder
    TOOLS.mkdir(parents=True, exist_ok=True)
    with _locked(TOOLS / "lock"):
        if not folder.is_dir():
            made = TOOLS / "making"
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
            build(made)
            made.rename(folder)
    return folder


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _found(program: str, advice: str) -> str:
    path = shutil.which(program)
    if path is None:
        message = f"no {program} on PATH: {advice}"
        raise Unsuitable(message)
    return path


def _run(command: Sequence[str], what: str, **environment: str) -> None:
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"{what} could not be built: {done.stderr[-2000:]}"
        raise DownloadFailed(message)
