"""The progress of a long write, in the log."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from floe.model.offsets import OffsetRange
from floe.model.plan import Slice, SliceKind
from floe_job.contract.result import WorkDone
from floe_job.runtime.spark_jobs import JobProgress, ProgressLog, progress_line

SLICE = Slice(0, SliceKind.LIVE, (OffsetRange("t", "id", 0, 0, 8_000_000),), ("db.t",))


class Tasks:
    """Tasks that answer how far they are, so often; then the write ends."""

    def __init__(self, *answers: Callable[[], JobProgress]) -> None:
        self._answers = list(answers)
        self.ended = threading.Event()

    def counts(self) -> JobProgress:
        answer = self._answers.pop(0)
        if not self._answers:
            self.ended.set()
        return answer()


def logged(caplog: pytest.LogCaptureFixture, *answers: Callable[[], JobProgress]) -> list[str]:
    tasks = Tasks(*answers, JobProgress)
    with caplog.at_level("INFO"), ProgressLog(tasks, SLICE, every=0.001):
        assert tasks.ended.wait(60)
    return [record.getMessage() for record in caplog.records]


def test_progress_is_logged_while_tasks_run(caplog: pytest.LogCaptureFixture) -> None:
    lines = logged(caplog, lambda: JobProgress(0, 4), JobProgress, lambda: JobProgress(3, 4))
    assert [line.partition(",")[0] for line in lines] == ["0 of 4 tasks done", "3 of 4 tasks done"]


def test_write_that_ends_soon_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), ProgressLog(Tasks(lambda: JobProgress(1, 2)), SLICE):
        pass
    assert caplog.records == []


def test_spark_that_does_not_answer_is_asked_once(caplog: pytest.LogCaptureFixture) -> None:
    asked = threading.Event()

    def fail() -> JobProgress:
        asked.set()
        msg = "gone\nsecond line"
        raise RuntimeError(msg)

    with caplog.at_level("INFO"), ProgressLog(Tasks(fail, fail), SLICE, every=0.001) as progress:
        assert asked.wait(60)
        progress.thread.join(60)
    assert [record.getMessage() for record in caplog.records] == ["Spark does not tell how far the tasks are: gone"]


def test_line_says_records_bytes_and_what_is_left() -> None:
    assert progress_line(SLICE, JobProgress(0, 4), 30) == "0 of 4 tasks done, of 8,000,000 offsets, after 30 s"
    assert progress_line(SLICE, JobProgress(2, 4, WorkDone(2, 3_900_000, 741_000_000)), 60) == (
        "2 of 4 tasks done, of 8,000,000 offsets, after 60 s: 3,900,000 records, 741.0 MB of keys and values, "
        "65,000 records/s, 12.3 MB/s, about 60 s left"
    )


@pytest.mark.parametrize("work", [WorkDone(1, 1_000_000, 200_000_000), WorkDone(4, 4_000_000, 800_000_000)])
def test_line_of_other_tasks_than_are_done_says_about(work: WorkDone) -> None:
    assert progress_line(SLICE, JobProgress(2, 4, work), 20) == (
        "2 of 4 tasks done, of 8,000,000 offsets, after 20 s: about 2,000,000 records, 400.0 MB of keys and values, "
        "100,000 records/s, 20.0 MB/s, about 20 s left"
    )


def test_line_without_any_result_yet_estimates_offsets() -> None:
    assert progress_line(SLICE, JobProgress(1, 4), 60) == (
        "1 of 4 tasks done, of 8,000,000 offsets, after 60 s: about 2,000,000 offsets, 33,333 a second, about 180 s left"
    )
