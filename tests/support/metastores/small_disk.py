"""A file system of a size of its own, which a warehouse fills, and which is made larger afterwards."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """Mount one of ``size``, such as ``512k``, at a new folder; the test is skipped where that is not permitted."""
    folder.mkdir()
    _mount(folder, f"size={size}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def enlarge(folder: Path) -> None:
    """Make room: from here on it has 64 MiB."""
    _mount(folder, "remount,size=64m")


def _mount(folder: Path, options: str) -> None:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system of a size of its own can be mounted here: {done.stderr.strip()}")
