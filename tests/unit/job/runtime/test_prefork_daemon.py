"""The daemon of a local job's Python workers is a fork of its driver, and ends with either of them."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from floe.operators.spark.code_archive import python_path
from floe_job.runtime import prefork_daemon
from floe_job.runtime.prefork_daemon import NAME, VARIABLE, fork_daemon
from floe_job.runtime.spark_context import prefer_installed
from stack.progress import wait_until

DRIVER = """
import sys
from floe_job.runtime.prefork_daemon import fork_daemon
fork_daemon()
print("ready", flush=True)
sys.stdin.read()
"""
SECRET = "s3cret"
COMMAND = ("-m", "floe_job.runtime.prefork_daemon", "pyspark.worker")
Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "daemon.sock"


@pytest.fixture
def start(place: Path) -> Iterator[Start]:
    """Start Python with pipes, and kill it in the end."""
    started: list[Any] = []

    def run(*arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "PYTHONPATH": python_path(), VARIABLE: str(place), **environment}
        env["PYTHON_WORKER_FACTORY_SECRET"] = SECRET
        process = subprocess.Popen([sys.executable, *arguments], stdin=-1, stdout=-1, stderr=-1, env=env)
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
        process.wait(20)


def driver(start: Start) -> tuple[subprocess.Popen[bytes], psutil.Process]:
    """Start a driver; return it with its fork."""
    found = start("-c", DRIVER)
    assert found.stdout is not None
    assert found.stdout.readline() == b"ready\n"
    (fork,) = psutil.Process(found.pid).children()
    return found, fork


def new_worker(daemon: subprocess.Popen[bytes]) -> tuple[psutil.Process, socket.socket]:
    """Ask for a worker, as Spark does."""
    assert daemon.stdout is not None
    (port,) = struct.unpack("!i", daemon.stdout.read(4))
    connection = socket.create_connection(("127.0.0.1", port))
    (pid,) = struct.unpack("!i", connection.recv(4))
    connection.sendall(struct.pack("!i", len(SECRET)) + SECRET.encode())
    assert connection.recv(6, socket.MSG_WAITALL) == struct.pack("!i", 2) + b"ok"  # from now on it heeds signals
    return psutil.Process(pid), connection


def is_gone(process: psutil.Process) -> bool:
    return wait_until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, 10)


def test_workers_are_forked_from_the_driver(start: Start) -> None:
    _, fork = driver(start)
    daemon = start(*COMMAND, COLOUR="blue")
    worker, connection = new_worker(daemon)
    with connection:
        assert (worker.ppid(), worker.name(), fork.name()) == (fork.pid, NAME, NAME)
    assert not psutil.Process(daemon.pid).children()
    assert len(psutil.Process(daemon.pid).memory_maps()) < len(fork.memory_maps()) / 2  # it has imported nothing


def test_it_ends_with_spark(start: Start) -> None:
    _, fork = driver(start)
    daemon = start(*COMMAND)
    worker, connection = new_worker(daemon)
    with connection:
        daemon.communicate(timeout=60)
        assert daemon.returncode == 0
        assert is_gone(fork)
        assert is_gone(worker)


def test_it_ends_with_a_driver_whose_spark_never_asked(start: Start) -> None:
    found, fork = driver(start)
    found.kill()
    assert is_gone(fork)


def test_where_nobody_waits_the_command_is_the_daemon(start: Start, place: Path) -> None:
    daemon = start(*COMMAND)
    worker, connection = new_worker(daemon)
    with connection:
        assert worker.ppid() == daemon.pid
    assert not place.exists()


def test_a_second_daemon_is_one_by_itself(start: Start) -> None:
    driver(start)
    first, second = start(*COMMAND), start(*COMMAND)
    workers = [new_worker(daemon) for daemon in (first, second)]
    for _, connection in workers:
        connection.close()
    assert len({first.pid, second.pid} & {worker.ppid() for worker, _ in workers}) == 1


def test_another_python_is_not_replaced(start: Start, place: Path) -> None:
    _, fork = driver(start)
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(place))
        socket.send_fds(caller, [json.dumps(["/another/python", [], {}]).encode()], (0, 1, 2))
        caller.shutdown(socket.SHUT_WR)
        assert caller.recv(1) == b""
    assert is_gone(fork)


def test_a_folder_that_is_too_deep_has_no_fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / ("x" * 120)))
    monkeypatch.setattr(prefork_daemon.os, "fork", lambda: pytest.fail("it forked"))
    fork_daemon()
    assert "have to import for themselves" in caplog.text


@pytest.mark.parametrize("error", [BlockingIOError("too many processes"), ValueError("numpy.dtype size changed")])
def test_a_job_does_without_a_fork_that_fails(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any, error: Exception
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setenv(VARIABLE, str(place))
    broken = (prefork_daemon.os, "fork") if isinstance(error, OSError) else (prefork_daemon, "import_module")
    monkeypatch.setattr(*broken, fail)
    fork_daemon()
    assert str(error) in caplog.text


def test_who_is_not_asked_does_not_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(prefork_daemon.os, "fork", lambda: pytest.fail("it forked"))
    fork_daemon()


@pytest.mark.parametrize("is_installed", [True, False])
def test_pyspark_is_imported_from_where_pip_put_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_installed: bool
) -> None:
    home = tmp_path / "pyspark"
    archives = [str(home / "python" / "lib" / name) for name in ("pyspark.zip", "py4j-src.zip")]
    others = ["/jobs", str(tmp_path), str(home / "jars" / "core.jar")]
    home.mkdir()
    if is_installed:
        (home / "__init__.py").touch()
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setattr(sys, "path", [*archives, *others])
    prefer_installed()
    assert sys.path == (others if is_installed else [*archives, *others])
    monkeypatch.setattr(sys, "path", [*archives, "/jobs"])
    prefer_installed()
    assert sys.path == [*archives, "/jobs"]
