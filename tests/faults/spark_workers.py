"""The Python workers of a step that runs on Spark."""

from __future__ import annotations

import psutil

from faults.run import Attempt

SPARK = "local[2,4]"
"""Two tasks at once, and four attempts of each."""


def workers(writing: Attempt) -> list[psutil.Process]:
    """Return the Python workers of a step's Spark: those that their daemon forked."""
    try:
        family = psutil.Process(writing.child.pid).children(recursive=True)
        daemons = {one.pid for one in family if "-m floe_job.daemon" in " ".join(one.cmdline())}
        return [one for one in family if one.ppid() in daemons]
    except psutil.NoSuchProcess:
        return []
