"""The zygote: a process that has imported everything and forks a child for each step, so that a step starts at once.

It reads a JSON line for each child to start, and writes one when a child was started or has ended. When its input
ends, as when the tests end or are killed, its children are killed with it.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

from stack.settings import REPOSITORY

PR_SET_PDEATHSIG = 1
PATHS = ("plugins", "spark_jobs", ".")


@dataclass
class Child:
    """One forked process, known by a handle that no other process with its pid can be mistaken for."""

    pid: int
    _handle: int
    _ended: threading.Event = field(default_factory=threading.Event)
    _status: int | None = None

    @property
    def is_running(self) -> bool:
        return not self._ended.is_set()

    @property
    def is_stopped(self) -> bool:
        """Say whether it is held by SIGSTOP."""
        try:
            return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def send(self, signum: signal.Signals) -> None:
        """Send a signal to this very process, or to none."""
        if not self.is_running:
            return
        try:
            signal.pidfd_send_signal(self._handle, signum)
        except OSError:
            return

    def wait(self, seconds: float) -> int | None:
        """Wait for its end and return its exit code, minus the signal that killed it; None when it still runs."""
        return self._status if self._ended.wait(seconds) else None

    def wait_until_stopped(self, seconds: float) -> bool:
        """Wait until it has stopped; False when it ended instead, or goes on."""
        end = time.monotonic() + seconds
        while self.is_running and time.monotonic() < end:
            if self.is_stopped:
                return True
            time.sleep(0.01)
        return False

    def end(self, status: int) -> None:
        """Take note of its end."""
        self._status = os.waitstatus_to_exitcode(status)
        self._ended.set()
        os.close(self._handle)


class Zygote:
    """Starts children of a warm process."""

    def __init__(self, log: Path) -> None:
        path = os.pathsep.join(str(REPOSITORY / name) for name in PATHS)
        environment = {**os.environ, "PYTHONPATH": path}
        with log.open("ab") as errors:
            command = [sys.executable, "-m", "tests.faults.harness.zygote"]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=errors, env=environment, text=True
            )
        self._children: dict[int, Child] = {}
        self._started: Queue[Child] = Queue()
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, name="zygote", daemon=True)
        self._reader.start()

    def spawn(self, arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> Child:
        """Start a step."""
        request = {"arguments": list(arguments), "environment": dict(environment), "log": str(log)}
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            return self._started.get(timeout=60)

    def close(self) -> None:
        """End it and all its children."""
        for child in list(self._children.values()):
            if child.is_running:
                child.send(signal.SIGKILL)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(10)
        self._reader.join(10)
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            message = json.loads(line)
            if "started" in message:
                child = Child(message["started"], os.pidfd_open(message["started"]))
                self._children[child.pid] = child
                self._started.put(child)
            else:
                self._children.pop(message["ended"]).end(message["status"])


def _tell(fields: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()


def _become(request: dict[str, Any]) -> int:
    """Carry out a step in the forked child."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(source, target)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    os.environ.update(request["environment"])
    from tests.faults.harness import driver

    return driver.main(request["arguments"])


def _serve() -> None:
    wake, waker = os.pipe2(os.O_NONBLOCK)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    left = b""
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 1000)
            _reap()
        if 0 in ready:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, left = (left + data).split(b"\n")
            for line in lines:
                _fork(json.loads(line))


def _fork(request: dict[str, Any]) -> None:
    pid = os.fork()
    if pid:
        _tell({"started": pid})
        return
    code = 99
    try:
        code = _become(request)
        sys.stdout.flush()
    finally:
        os._exit(code)


def _reap() -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
        _tell({"ended": pid, "status": status})


if __name__ == "__main__":
    import tests.faults.harness.driver  # noqa: F401 - what the children need is imported before they are forked

    _serve()
