"""Processes are known by pid and start time."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from stack import processes
from stack.progress import wait_until


def run(tmp_path: Path, code: str) -> processes.Process:
    return processes.start([sys.executable, "-c", code], os.environ, tmp_path / "log", tmp_path)


def test_started_process_has_own_session_and_ends_by_signal(tmp_path: Path) -> None:
    process = run(tmp_path, "import time; print('up', flush=True); time.sleep(60)")
    assert processes.alive(process)
    assert os.getsid(process.pid) == process.pid
    assert processes.stop(process, signal.SIGTERM, 10) == []
    assert not processes.alive(process)


def test_later_process_of_same_pid_is_not_alive_nor_signalled(tmp_path: Path) -> None:
    process = run(tmp_path, "import time; time.sleep(60)")
    former = replace(process, started=process.started - 1, mark="0" * 32)
    assert not processes.alive(former)
    assert processes.family(former) == []
    processes.send(former, signal.SIGKILL)
    processes.stop(former, signal.SIGKILL, 1)
    assert processes.alive(process)
    processes.stop(process, signal.SIGKILL, 10)


def test_a_process_of_an_earlier_boot_is_gone(tmp_path: Path) -> None:
    process = run(tmp_path, "import time; time.sleep(60)")
    former = replace(process, boot="another boot")
    assert not processes.alive(former)
    assert processes.family(former) == []
    processes.stop(process, signal.SIGKILL, 10)


def test_stop_ends_grandchildren_outside_the_session(tmp_path: Path) -> None:
    sleeper = f"{shlex.quote(sys.executable)} -c 'import time; time.sleep(60)'"
    code = f"import os, time; os.system({f'setsid {sleeper} &'!r}); os.system({f'{sleeper} &'!r}); time.sleep(60)"
    process = run(tmp_path, code)
    assert wait_until(lambda: len(processes.family(process)) == 3, 10)
    kin = processes.family(process)
    os.kill(process.pid, signal.SIGKILL)
    assert wait_until(lambda: not processes.alive(process), 10)
    processes.stop(process, signal.SIGTERM, 0.2)
    assert not any(processes.alive(one) for one in kin)


def test_process_ignoring_the_signal_is_killed_and_returned(tmp_path: Path) -> None:
    code = "import signal, time; [signal.signal(s, signal.SIG_IGN) for s in (2, 15)]; print('up', flush=True)"
    process = run(tmp_path, f"{code}; time.sleep(60)")
    assert wait_until(lambda: "up" in (tmp_path / "log").read_text(), 10)
    assert [one.pid for one in processes.stop(process, signal.SIGINT, 0.2)] == [process.pid]


def test_a_child_takes_sigint_even_if_its_parent_ignores_it(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = run(tmp_path, "import time; print('up', flush=True); time.sleep(60)")
    finally:
        signal.signal(signal.SIGINT, before)
    assert wait_until(lambda: "up" in (tmp_path / "log").read_text(), 10)
    assert processes.stop(process, signal.SIGINT, 10) == []


def test_a_record_survives_the_disk(tmp_path: Path) -> None:
    file = tmp_path / "run" / "one.json"
    processes.save(processes.current(), file)
    assert processes.load(file) == processes.current()
    assert processes.alive(processes.current())


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_record_is_no_record(tmp_path: Path, text: str) -> None:
    file = tmp_path / "one.json"
    file.write_text(text)
    assert processes.load(file) is None
    assert processes.load(tmp_path / "absent.json") is None


def test_signal_during_start_is_handled_after_record_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = processes.start

    def interrupted(*arguments: object) -> processes.Process:
        process = start(*arguments)  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGINT)
        return process

    monkeypatch.setattr(processes, "start", interrupted)
    record = tmp_path / "record.json"
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    # whoever was started in the background of a shell ignores it
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            processes.start_recorded(command, os.environ, tmp_path / "log", tmp_path, record)
    finally:
        signal.signal(signal.SIGINT, before)
    process = processes.load(record)
    assert process is not None
    assert processes.alive(process)
    processes.stop(process, signal.SIGTERM, 10)
