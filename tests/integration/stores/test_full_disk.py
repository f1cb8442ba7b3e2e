"""A local warehouse whose disk is full: nothing is announced, and the run after it has room reads the same records."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from floe.exceptions import Retryable
from tests.support.metastores.small_disk import enlarge, small_disk
from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.records import ids, read_ids


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", "512k") as folder:
        yield folder


def test_full_disk_fails_write_and_next_run_heals(pipeline: MakePipeline, disk: Path) -> None:
    pizzas = pipeline(**{"iceberg.catalog.warehouse": f"file://{disk}"})
    pizzas.produce(ids(0, 50))
    pizzas.run()
    pizzas.produce({"id": i, "note": secrets.token_hex(6_000)} for i in range(50, 250))
    (error,) = pizzas.try_write(pizzas.plan())
    assert isinstance(error, Retryable)
    assert "No space left on device" in str(error)
    assert sum(pizzas.position().values()) == 50
    enlarge(disk)
    pizzas.run()
    assert read_ids(pizzas) == list(range(250))
    # what was left of the file that did not fit is no file of the table
    named = {task.file.file_path.removeprefix("file://") for task in pizzas.table().scan().plan_files()}
    assert named <= {str(path) for path in disk.rglob("*.parquet")}
