"""The record that a run keeps at its end."""

from __future__ import annotations

import logging
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from floe.model.accounting import TableCounts
from floe.model.plan import SliceKind
from floe.operators.status import store
from floe.status.record import StatusRecord
from tests.support.cpu import least_cpu_seconds
from tests.support.status.records import MINUTE, NOW, commit, large, status, table

CONNECTOR: Any = SimpleNamespace(name="one", errors=SimpleNamespace(table=None))
PLAN: Any = SimpleNamespace(slices=[SimpleNamespace(kind=SliceKind.LIVE)], slice_id=lambda _: "p/0")


def report(*snapshot_ids: int | None) -> Any:
    files, counts = SimpleNamespace(table="db.t", file_count=2), TableCounts(7, 7)
    commits = [SimpleNamespace(table_files=files, counts=counts, snapshot_id=one) for one in snapshot_ids]
    return SimpleNamespace(committed=commits)


def present(lag: int = 0) -> Any:
    return replace(status(NOW + MINUTE, lag), tables=None)


def test_run_keeps_its_commit(variables: Any) -> None:
    store.save(StatusRecord(status(NOW, 5, table("db.t", commit(1)))))
    store.keep(CONNECTOR, present(), PLAN, report(None, 2))
    found = store.load("one")
    assert found is not None and found.status.lag == 0 and found.rows == 7
    ((newest, _),) = [one.commits for one in found.status.tables or ()]
    assert (newest.snapshot_id, newest.kind, newest.slice_id, newest.rows, newest.files) == (2, "live", "p/0", 7, 2)


def test_first_run_of_a_connector_keeps_its_lag(variables: Any) -> None:
    store.keep(CONNECTOR, present(3))
    found = store.load("one")
    assert found is not None and (found.status.lag, found.status.tables) == (3, None)


def test_run_that_looked_nothing_up_keeps_nothing(variables: Any) -> None:
    store.keep(CONNECTOR, None)
    assert variables.values == {}


def test_record_that_cannot_be_kept_fails_no_run(variables: Any, caplog: pytest.LogCaptureFixture) -> None:
    variables.broken = OSError("no API server")
    store.keep(CONNECTOR, present())
    broken: Any = SimpleNamespace(committed=None)
    variables.broken = None
    store.keep(CONNECTOR, present(), PLAN, broken)
    assert [one.levelno for one in caplog.records] == [logging.WARNING] * 3


def test_keeping_the_largest_record_is_quick(variables: Any) -> None:
    record = large(1_000)
    store.save(record)
    status = replace(record.status, at=NOW + MINUTE, tables=None)
    assert least_cpu_seconds(lambda: store.keep(CONNECTOR, status)) < 1
