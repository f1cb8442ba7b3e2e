"""Metadata files that fell out of a table's log: removed after a commit, where the table says so."""

from pathlib import Path

import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO

from tests.support.tables.lake import Lake, expected
from tests.support.tables.slices import write_slice

FEW = {"write.metadata.previous-versions-max": "2"}
REMOVED = {**FEW, "write.metadata.delete-after-commit.enabled": "true"}


def commit(lake: Lake, *runs: int) -> None:
    for run in runs:
        write_slice(lake, (0, run, run + 1), plan_id=f"plan-{run}").land()


def metadata_files(lake: Lake) -> set[str]:
    return {f"file://{path}" for path in Path(lake.folder, "warehouse").rglob("*.metadata.json")}


def test_they_go_once_the_commit_has_landed(lake: Lake) -> None:
    lake.create(properties=REMOVED)
    commit(lake, *range(5))
    table = lake.load()
    assert metadata_files(lake) == {table.metadata_location, *(e.metadata_file for e in table.metadata.metadata_log)}
    assert len(table.metadata.metadata_log) == 2
    assert lake.rows() == expected((0, 5))


def test_they_stay_where_nothing_is_said(lake: Lake) -> None:
    lake.create(properties=FEW)
    commit(lake, *range(5))
    assert len(lake.load().metadata.metadata_log) == 2
    assert len(metadata_files(lake)) == 6


def test_metadata_file_that_cannot_be_removed_is_left(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lake.create(properties=REMOVED)

    def refuse(*_: object) -> None:
        msg = "denied"
        raise RuntimeError(msg)

    monkeypatch.setattr(PyArrowFileIO, "delete", refuse)
    commit(lake, *range(4))
    assert lake.rows() == expected((0, 4))
    assert "left over: denied" in caplog.text
