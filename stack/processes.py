"""Processes that the stack started: known by pid *and* start time, so that a reused pid is never signalled.

What a started process starts in turn is found by its session, by its parents, and by a mark in its environment that
all descendants inherit (it finds those that left the session and lost their parent). Needs Linux's /proc.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from stack.exceptions import StartFailed, Unsuitable
from stack.progress import wait_until

MARK = "FLOE_STACK_MARK"
_ORPHANS_END_WITHIN = 3.0
_DEFERRED = (signal.SIGINT, signal.SIGTERM)

# A shell's background job ignores SIGINT, and children inherit that: undo it in the child, then become the program.
_LAUNCHER = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execvp(sys.argv[1], sys.argv[1:])"


@dataclass(frozen=True)
class Process:
    """One process: its pid, its start (clock ticks since boot), the boot, and the mark its descendants carry."""

    pid: int
    started: int
    boot: str
    mark: str


@dataclass(frozen=True)
class _Stat:
    parent: int
    session: int
    state: str
    started: int


def start(command: Sequence[str], env: Mapping[str, str], log: Path, cwd: Path) -> Process:
    """Start a command in a session of its own, output appended to `log`, and return it at once."""
    mark = uuid.uuid4().hex
    with log.open("ab") as output:
        child = subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", _LAUNCHER, *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**env, MARK: mark},
            cwd=cwd,
            start_new_session=True,
        )
    stat = _stat(child.pid)
    # The starting process may end before it does: the process is followed by its record, not by this handle.
    child.returncode = 0
    if stat is None:
        message = f"{command[0]} ended at once: read {log}"
        raise StartFailed(message)
    return Process(child.pid, stat.started, _boot(), mark)


def start_recorded(command: Sequence[str], env: Mapping[str, str], log: Path, cwd: Path, record: Path) -> Process:
    """Start a command and write its record, as one step: a signal in between is handled after it.

    Else Ctrl-C at that moment would leave a process without a record.
    """
    with _signals_wait():
        process = start(command, env, log, cwd)
        save(process, record)
    return process


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Keep SIGINT and SIGTERM until the block has ended, then deliver them as they would have been."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {signum: signal.signal(signum, lambda number, _: came.append(number)) for signum in _DEFERRED}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)
        for number in came:
            signal.raise_signal(number)


def alive(process: Process) -> bool:
    """Return whether this very process, not a later one with its pid, still runs."""
    stat = _stat(process.pid)
    if stat is not None and stat.state == "Z":
        _reap(process.pid)
    return stat is not None and stat.state != "Z" and stat.started == process.started and process.boot == _boot()


def family(process: Process) -> list[Process]:
    """Return the process and all that it started, as far as they still run."""
    if process.boot != _boot():
        return []
    table = _table()
    found: set[int] = set()
    leader = table.get(process.pid)
    if leader is not None and leader.started == process.started:
        found |= {pid for pid, stat in table.items() if stat.session == process.pid} | {process.pid}
    found |= {pid for pid, stat in table.items() if stat.started >= process.started and _carries(pid, process.mark)}
    while new := {pid for pid, stat in table.items() if stat.parent in found} - found:
        found |= new
    ours = [Process(pid, table[pid].started, process.boot, process.mark) for pid in sorted(found)]
    return [one for one in ours if alive(one)]


def stop(process: Process, signum: signal.Signals, within: float, then: float = 5) -> list[Process]:
    """End a process by `signum`, then what is left of its family by SIGTERM and SIGKILL; return those killed.

    `within`: seconds that the process may take; what outlives it by seconds is not waited for any longer. `then`: seconds
    after SIGTERM.
    """
    kin = {one.pid: one for one in family(process)}
    gone = not kin
    if alive(process):
        send(process, signum)
        ended = wait_until(lambda: not alive(process), within)
        gone = ended and wait_until(lambda: not _left(kin, process), _ORPHANS_END_WITHIN)
    if not gone:
        for one in _left(kin, process):
            send(one, signal.SIGTERM)
        gone = wait_until(lambda: not _left(kin, process), then)
    killed = [] if gone else _left(kin, process)
    for one in killed:
        send(one, signal.SIGKILL)
    wait_until(lambda: not _left(kin, process), 5)
    return killed


def send(process: Process, signum: signal.Signals) -> None:
    """Send a signal to this very process, or to none."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        # Checked after the handle was taken: from here on a new process with that pid cannot be signalled.
        if alive(process):
            signal.pidfd_send_signal(handle, signum)
    except ProcessLookupError:
        return
    finally:
        os.close(handle)


def current() -> Process:
    """Return the running process itself."""
    stat = _stat(os.getpid())
    if stat is None:
        message = "this system has no /proc: the local stack needs Linux"
        raise Unsuitable(message)
    return Process(os.getpid(), stat.started, _boot(), "")


def save(process: Process, file: Path) -> None:
    """Write the record of a process, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(asdict(process)))
    partial.replace(file)


def load(file: Path) -> Process | None:
    """Read the record of a process; None if there is none."""
    try:
        return Process(**json.loads(file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _left(kin: dict[int, Process], process: Process) -> list[Process]:
    """Return the processes that still run: those known before, and those that were started since (added to `kin`)."""
    kin.update({one.pid: one for one in family(process)})
    return [one for one in kin.values() if alive(one)]


def _table() -> dict[int, _Stat]:
    pids: Iterable[int] = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return {pid: stat for pid in pids if (stat := _stat(pid)) is not None}


def _stat(pid: int) -> _Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name, in brackets, may hold spaces and brackets itself: count from the last one.
    fields = text.rpartition(")")[2].split()
    return _Stat(parent=int(fields[1]), session=int(fields[3]), state=fields[0], started=int(fields[19]))


def _carries(pid: int, mark: str) -> bool:
    try:
        return bool(mark) and mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
