"""Memory that runs out: a step may take so many megabytes more than it has, as in a container with a limit."""

from __future__ import annotations

import os
import resource
from pathlib import Path

VARIABLE = "FLOE_FAULTS_MEMORY"
"""Megabytes that the step may take over those that it has when it begins."""


def limit_by_environment() -> None:
    """Limit this process's memory if the environment asks for it."""
    if os.environ.get(VARIABLE):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + int(os.environ[VARIABLE]) * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
