"""Calls at once in a bounded time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial

from floe.side_by_side import apart, side_by_side


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


# -- in a child process --------------------------------------------------------------------------------------------------


def ending(*_: object) -> int:
    os.write(2, b"a native client aborts\n")
    os.abort()


def leaving(*_: object) -> int:
    os._exit(7)


def told(name: str, how: str, said: str) -> str:
    return f"{name} {how}: {said.strip()}"


def test_job_that_ends_its_process_ends_no_other() -> None:
    good = {f"good {i}": partial(str, i) for i in range(20)}
    jobs: dict[str, Callable[[], object]] = {"aborts": ending, "leaves": leaving, "is killed": killed, **good}
    found = dict(apart(jobs, 4, time.monotonic() + 60, told))
    assert found.pop("aborts") == "aborts by signal SIGABRT: a native client aborts"
    assert found.pop("leaves") == "leaves with exit code 7: "
    assert found.pop("is killed") == "is killed by signal SIGKILL: "
    assert found == {f"good {i}": str(i) for i in range(20)}


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_job_that_hangs_in_a_child_ends_with_the_time() -> None:
    began = time.monotonic()
    jobs = {"hangs": partial(time.sleep, 600), "answers": partial(str, 1)}
    assert dict(apart(jobs, 2, began + 3, told)) == {"answers": "1"}
    assert time.monotonic() - began < 30
    assert dict(apart({}, 2, time.monotonic() + 3, told)) == {}
    assert dict(apart(jobs, 2, time.monotonic() - 1, told)) == {}


def test_child_is_prepared_and_what_it_prints_is_no_result() -> None:
    jobs: dict[str, Callable[[], object]] = {"prints": partial(print, "text"), "asks": os.getcwd}
    found = dict(apart(jobs, 1, time.monotonic() + 60, told, partial(os.chdir, "/")))
    assert found == {"prints": None, "asks": "/"}


def test_child_that_cannot_begin_is_told_for_each_job() -> None:
    jobs = {name: partial(str, name) for name in ("a", "b")}
    found = dict(apart(jobs, 2, time.monotonic() + 60, told, leaving))
    assert found == {"a": "a with exit code 7: ", "b": "b with exit code 7: "}
