"""A local warehouse whose disk is full: nothing is announced, and the run after it has room reads the same records."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from floe.exceptions import Retryable
from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.records import ids, read_ids


def mounted(folder: Path, options: str) -> None:
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no file system of a size of its own can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted(folder, "size=512k")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_full_disk_fails_write_and_next_run_heals(pipeline: MakePipeline, small_disk: Path) -> None:
    pizzas = pipeline(**{"iceberg.catalog.warehouse": f"file://{small_disk}"})
    pizzas.produce(ids(0, 50))
    pizzas.run()
    pizzas.produce({"id": i, "note": secrets.token_hex(6_000)} for i in range(50, 250))
    (error,) = pizzas.try_write(pizzas.plan())
    assert isinstance(error, Retryable)
    assert "No space left on device" in str(error)
    assert sum(pizzas.position().values()) == 50
    mounted(small_disk, "remount,size=64m")
    pizzas.run()
    assert read_ids(pizzas) == list(range(250))
    # what was left of the file that did not fit is no file of the table
    named = {task.file.file_path.removeprefix("file://") for task in pizzas.table().scan().plan_files()}
    assert named <= {str(path) for path in small_disk.rglob("*.parquet")}
