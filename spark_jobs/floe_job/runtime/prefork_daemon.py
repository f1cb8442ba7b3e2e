"""The daemon that Spark forks the Python workers of a local job from: itself a fork of the driver, with its imports.

Spark starts a daemon by a command. This one finds a process waiting in the job's folder, which the driver forked from
itself before it had a thread of Python's or a connection, and gives it what Spark gave this one: streams, environment,
arguments. If no process waits, it becomes the daemon itself, and imports for a second what the driver has imported already.
"""

import json
import logging
import os
import select
import socket
import sys
import time
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from floe_job.runtime.spark_context import LIBRARIES, WITHOUT_PANDAS, without_pandas

log = logging.getLogger(__name__)

VARIABLE = "FLOE_DAEMON_SOCKET"
"""Names the socket, in a folder that no other user may enter: the environment of a daemon contains a secret."""

NAME = "floe-worker"
"""The name of a daemon and its workers in the system's list of processes: their command line is the driver's."""

TAKEN = b"y"
_STREAMS = (0, 1, 2)
_STEP = 65_536


def fork_daemon() -> None:
    """Import, and fork a process that waits for Spark to start its daemon, where a socket is named.

    It ends with the driver, or with Spark.
    """
    place = os.environ.get(VARIABLE)
    if place is None:
        return
    driver, held = os.pipe()  # it reads as ended once the driver has
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            with without_pandas() if os.environ.get(WITHOUT_PANDAS) == "true" else nullcontext():
                for name in (LIBRARIES, "floe_job.runtime.worker_daemon"):
                    import_module(name)
            listener.bind(place)  # which may be too long
            listener.listen(1)
            sys.stdout.flush()
            is_driver = os.fork() != 0
        except Exception as error:  # noqa: BLE001 - the job runs without it
            log.warning("Spark's workers have to import for themselves: %s", error)
            is_driver = True
        if not is_driver:
            _end_as_daemon(listener, driver, held)
    os.close(driver)


def _end_as_daemon(listener: socket.socket, driver: int, held: int) -> NoReturn:
    try:
        os.close(held)
        _wait(listener, driver)
    except Exception:
        log.exception("the daemon of Spark's Python workers failed")
    finally:
        os._exit(0)  # nothing of what the driver would do at its end


def _wait(listener: socket.socket, driver: int) -> None:
    """Take the place of a daemon that Spark started, and run as it."""
    ready, _, _ = select.select([listener.fileno(), driver], [], [])
    if listener.fileno() not in ready:
        return
    caller, _ = listener.accept()
    listener.close()
    os.close(driver)
    state, streams, _, _ = socket.recv_fds(caller, _STEP, len(_STREAMS))
    while more := caller.recv(_STEP):
        state += more
    python, argv, environment = json.loads(state)
    if python != sys.executable:  # workers may be configured to use another one
        return
    caller.send(TAKEN)
    for number, stream in zip(_STREAMS, streams, strict=True):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    os.register_at_fork(after_in_child=caller.close)  # its end means the end of the daemon, not of a worker
    sys.argv[:] = argv
    with suppress(OSError):
        Path("/proc/self/comm").write_text(NAME)
    _be_daemon()


def _take_place() -> bool:
    """Run the driver's fork as the daemon in place of this process, and wait for its end; return whether it existed."""
    place = os.environ.get(VARIABLE)
    if place is None:
        return False
    state = json.dumps([sys.executable, sys.argv, dict(os.environ)])
    with socket.socket(socket.AF_UNIX) as fork:
        try:
            fork.connect(place)
            socket.send_fds(fork, [state.encode()], _STREAMS)
            fork.shutdown(socket.SHUT_WR)
            is_taken = fork.recv(1) == TAKEN
        except OSError:  # it has ended, or runs as a daemon already
            return False
        if is_taken:
            fork.recv(1)
        return is_taken


def _be_daemon() -> None:
    from floe_job.runtime.worker_daemon import run  # not above: a command that finds a fork imports nothing

    run()


if __name__ == "__main__" and not _take_place():
    _be_daemon()
