"""Calls at once in a bounded time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from floe.side_by_side import side_by_side


def test_each_job_yields_what_it_returns() -> None:
    jobs: dict[str, Callable[[], int]] = {str(i): (lambda i=i: i) for i in range(50)}  # type: ignore[misc]
    assert dict(side_by_side(jobs, 4, time.monotonic() + 30)) == {str(i): i for i in range(50)}
    assert dict(side_by_side({}, 4, time.monotonic() + 30)) == {}


def test_job_that_hangs_keeps_no_other_waiting() -> None:
    release = threading.Event()
    jobs: dict[str, Callable[[], object]] = {"hangs": release.wait, **{str(i): str for i in range(9)}}
    began = time.monotonic()
    found = dict(side_by_side(jobs, 2, began + 0.3))
    release.set()
    assert set(found) == {str(i) for i in range(9)}
    assert time.monotonic() - began < 5


def test_jobs_begin_in_their_order_and_not_after_the_time() -> None:
    begun: list[int] = []
    jobs = {str(i): (lambda i=i: begun.append(i)) for i in range(5)}  # type: ignore[misc]
    list(side_by_side(jobs, 1, time.monotonic() + 30))
    assert begun == [0, 1, 2, 3, 4]
    assert list(side_by_side(jobs, 1, time.monotonic() - 1)) == []
    assert begun == [0, 1, 2, 3, 4]
