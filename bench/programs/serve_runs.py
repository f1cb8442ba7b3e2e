"""Runs of floe's tasks, each in a fork of a process that has its imports, as Airflow's workers fork one for each task.

Usage: ``serve_runs.py``, with the folders of a version of floe in PYTHONPATH: it is driven through its own
``bench/programs/run_floe.py``. Prints ``ready``; then for each line on standard input, a list as JSON:

* ``["run", CONNECTOR.json, MAX_RECORDS?]``: prints ``pid`` with the fork's, and goes on as ``run_floe.py``, whose last line
  is one of JSON; the fork then ends at another line on standard input.
* ``["idle", CONNECTOR.json, TIMES]``: plans as often, each time in a fork, where there is nothing new; prints a line of JSON.

Then ``done`` is printed; or ``failed``, and why on standard error. Whoever asks waits for it: a fork reads what was sent.
"""

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from bench.programs import run_floe
from floe.operators.preload import preload


def forked(work: Callable[[], None]) -> bool:
    """Do some work in a fork, and return whether it succeeded."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - the fork ends here, whatever it was
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    _, status = os.waitpid(pid, 0)
    return status == 0


def run(argv: list[str]) -> None:
    """Run the three tasks, and wait to be told to end: what the fork used is read until then."""
    print("pid", os.getpid(), flush=True)
    run_floe.main(["run_floe", *argv])
    sys.stdin.readline()


class Start:
    """Standard input of an idle run: read once, where its clock starts."""

    began: float
    cpu: float

    def readline(self) -> str:
        """Start the clock."""
        self.began, self.cpu = time.perf_counter(), time.process_time()
        return "go\n"


def idle(connector: str, out: int) -> None:
    """Plan, and write the seconds that it took as JSON. Raises AssertionError if there was something to read."""
    from airflow.sdk.exceptions import DownstreamTasksSkipped

    started: Any = Start()
    sys.stdin = started
    try:
        run_floe.main(["run_floe", connector])
    except DownstreamTasksSkipped:
        took = {
            "seconds": time.perf_counter() - started.began,
            "cpu_seconds": time.process_time() - started.cpu,
        }
        os.write(out, json.dumps(took).encode() + b"\n")
        return
    message = "there was something new"
    raise AssertionError(message)


def idle_runs(connector: str, times: str) -> bool:
    """Plan in as many forks, one after the other; print the sums."""
    read, write = os.pipe()
    done = all(forked(lambda: idle(connector, write)) for _ in range(int(times)))
    os.close(write)
    with os.fdopen(read) as lines:
        found = [json.loads(line) for line in lines]
    if done:
        print(json.dumps({name: sum(one[name] for one in found) for name in ("seconds", "cpu_seconds")}), flush=True)
    return done


def main() -> None:
    """Serve until the input ends."""
    preload()
    print("ready", flush=True)
    while line := sys.stdin.readline():
        what, *argv = json.loads(line)
        done = forked(lambda argv=argv: run(argv)) if what == "run" else idle_runs(*argv)  # type: ignore[misc]
        print("done" if done else "failed", flush=True)


if __name__ == "__main__":
    main()
