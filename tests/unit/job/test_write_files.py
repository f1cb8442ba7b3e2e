"""Of slices that failed one error is raised and not logged; the others are logged, once."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from floe.exceptions import FloeError
from floe.model.exceptions import WriteTimeout
from floe_job.application.write_files import write_files
from floe_job.driver.job import SliceJob
from floe_job.exceptions import SliceFailed, SliceRefused


def run(monkeypatch: pytest.MonkeyPatch, *errors: FloeError) -> None:
    range_parts = [SimpleNamespace(is_replay=False, error=error) for error in errors]

    def write_slice(job: SliceJob, *_: Any) -> None:
        raise job.slice.error  # type: ignore[attr-defined]

    monkeypatch.setattr("floe_job.driver.slice_job.write_slice", write_slice)
    plan = SimpleNamespace(slice_id=lambda slice_: f"s/{range_parts.index(slice_)}")
    connector = SimpleNamespace(reading=SimpleNamespace(write_timeout_ms=None))
    order = SimpleNamespace(todo=range_parts, plan=plan, connector=connector, settings=None, key=None)
    write_files(None, order)  # type: ignore[arg-type]


def test_error_of_one_slice_is_raised_and_not_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SliceRefused, match="bad"):
        run(monkeypatch, SliceRefused("bad"), SliceRefused("bad"))
    assert not caplog.records


def test_errors_of_other_slices_are_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(SliceFailed, match="away"):
        run(monkeypatch, SliceRefused("bad"), SliceFailed("away"))
    assert [record.getMessage() for record in caplog.records] == ["slice s/0 failed: bad"]


def test_slice_that_took_too_long_is_raised_before_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(WriteTimeout, match="one") as found:
        run(monkeypatch, SliceFailed("away"), WriteTimeout("one"), WriteTimeout("two"))
    assert found.value.slices == ("s/1", "s/2")
