"""The Python workers of a step that runs on Spark."""

from __future__ import annotations

import psutil

from tests.faults.harness.run import Attempt

SPARK = "local[2,4]"
"""Two tasks at once, and four attempts of each."""


def workers(writing: Attempt) -> list[psutil.Process]:
    """Return the Python workers of a step's Spark: those that their daemon forked."""
    try:
        family = psutil.Process(writing.child.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    daemons = {one.pid for one in family if _is_daemon(one)}
    return [one for one in family if _parent(one) in daemons]


def _is_daemon(process: psutil.Process) -> bool:
    """Say whether a process is the workers' daemon; one that ended, or is not waited for, is none."""
    try:
        return "-m floe_job.runtime.worker_daemon" in " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return False


def _parent(process: psutil.Process) -> int | None:
    try:
        return process.ppid()
    except psutil.NoSuchProcess:
        return None
