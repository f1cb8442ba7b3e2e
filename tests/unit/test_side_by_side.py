"""Calls at once in a bounded time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from floe.config.secrets.mask import hide, learn
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


def test_job_beside_one_that_ends_its_process_is_asked_again_and_so_are_those_behind_it(tmp_path: Path) -> None:
    jobs: dict[str, Callable[[], object]] = {
        "beside": partial(waiting_once, str(tmp_path)),
        "aborts": partial(ending_beside, str(tmp_path)),
        **{f"behind {i}": partial(str, i) for i in range(3)},
    }
    found = dict(apart(jobs, 2, time.monotonic() + 60, told))
    assert found.pop("aborts") == "aborts by signal SIGABRT: "
    assert found == {"beside": "answered", **{f"behind {i}": str(i) for i in range(3)}}


def waiting_once(folder: str) -> str:
    """Be at work while the other job ends the process, and answer when asked again."""
    if not Path(folder, "a").exists():
        Path(folder, "a").touch()
        time.sleep(60)
    return "answered"


def ending_beside(folder: str) -> None:
    ending_together(folder, "b")


def test_child_that_cannot_begin_again_is_told_for_the_jobs_that_are_asked_again(tmp_path: Path) -> None:
    jobs = {name: partial(ending_together, str(tmp_path), name) for name in ("a", "b")}
    found = dict(apart(jobs, 2, time.monotonic() + 60, told, partial(os.mkdir, tmp_path / "once")))
    assert set(found) == {"a", "b"}
    assert all(
        text.startswith(f"{name} with exit code 1: ") and "FileExistsError" in text for name, text in found.items()
    )


def ending_together(folder: str, name: str) -> None:
    Path(folder, name).touch()
    until = time.monotonic() + 30
    while time.monotonic() < until and not (Path(folder, "a").exists() and Path(folder, "b").exists()):
        time.sleep(0.01)
    os.abort()


@pytest.mark.parametrize(
    ("job", "why"),
    [(partial(int, "x"), "ValueError"), (partial(sys.exit, 3), "SystemExit"), (threading.Lock, "pickle")],
)
def test_job_that_raises_or_returns_what_cannot_be_sent_is_told(job: Callable[[], object], why: str) -> None:
    jobs: dict[str, Callable[[], object]] = {"wrong": job, **{f"good {i}": partial(str, i) for i in range(5)}}
    found = dict(apart(jobs, 2, time.monotonic() + 60, told))
    wrong = found.pop("wrong")
    assert str(wrong).startswith("wrong with exit code 1: ") and why in str(wrong)
    assert found == {f"good {i}": str(i) for i in range(5)}


def test_error_of_a_job_is_told_without_secrets() -> None:
    secret = "kept-from-logs-7c1"
    prepare = partial(learn, {"password": secret})
    found = dict(apart({"wrong": partial(int, secret)}, 1, time.monotonic() + 60, told, prepare, hide))
    assert "ValueError" in found["wrong"] and secret not in found["wrong"]


def test_process_that_a_library_started_ends_with_the_child(tmp_path: Path) -> None:
    began = time.monotonic()
    assert dict(apart({"a": partial(hanging_with_another, str(tmp_path / "pid"))}, 1, began + 4, told)) == {}
    assert time.monotonic() - began < 15
    wait_until_ended(int((tmp_path / "pid").read_text()))


def wait_until_ended(pid: int) -> None:
    """Wait until a process is gone, or is only kept for a parent that does not ask how it ended."""
    until = time.monotonic() + 20
    with suppress(FileNotFoundError, ProcessLookupError):
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert time.monotonic() < until
            time.sleep(0.01)


def hanging_with_another(file: str) -> None:
    """Start a process that has the child's own standard error, as a library does that asks for a ticket."""
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    Path(file).write_text(str(other.pid))
    time.sleep(60)


def test_child_ends_where_no_more_results_are_asked_for() -> None:
    jobs: dict[str, Callable[[], object]] = {"pid": os.getpid, "hangs": partial(time.sleep, 60)}
    results = apart(jobs, 2, time.monotonic() + 60, told)
    name, pid = next(results)
    assert name == "pid" and isinstance(pid, int)
    del results
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
