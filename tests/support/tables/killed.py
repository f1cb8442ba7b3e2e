"""A process that commits to a table, and is killed at one step of the commit."""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest.mock import patch

from floe.config import Connector
from floe.control.announcement import Announcement
from floe.model.plan import Plan
from tests.support.tables.lake import Lake
from tests.support.tables.slices import Written

GONE = -signal.SIGKILL
WITHIN = 60
_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    ["tests.support.tables.killed", "floe.catalogs.providers.sql.catalog", "floe.catalogs.providers.hadoop.catalog"]
)


@dataclass
class KeyedLake(Lake):
    """A lake of another process, by the keys of its catalog."""

    keys: Mapping[str, str] = field(default_factory=dict)

    def connector(self, **over: object) -> Connector:
        return super().connector(**{**self.keys, **over})


def catalog_keys(lake: Lake) -> dict[str, str]:
    """Return what another process needs to open a lake's catalog."""
    return {key: value for key, value in lake.connector().properties.items() if key.startswith("iceberg.catalog")}


def land_in(lake: Lake, written: Written, step: str = "") -> int | None:
    """Land a slice in a process of its own and return its exit code: 0, or ``GONE`` if it is killed at ``step``.

    ``step``: before or after a function, as ``after os.link``.
    """
    _start_server()
    arguments = (str(lake.folder), catalog_keys(lake), portable([written]), step)
    process = _PROCESSES.Process(target=_land, args=arguments)
    process.start()
    process.join(WITHIN)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode


@cache
def _start_server() -> None:
    """Start the process that is forked; it imports by PYTHONPATH only (gh-117378 of CPython)."""
    with patch.dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)):
        forkserver.ensure_running()


def land_beside(
    folder: str, keys: Mapping[str, str], slices: Sequence[tuple[dict[str, Any], Announcement]]
) -> list[bool]:
    """Land slices in this process, one after the other; say of each whether it had landed already."""
    lake = KeyedLake(Path(folder), keys=keys)
    try:
        written = (Written(lake, Plan.from_json(plan), announcement) for plan, announcement in slices)
        return [one.land(timeout_s=60).already for one in written]
    finally:
        lake.close()


def portable(slices: Iterable[Written]) -> list[tuple[dict[str, Any], Announcement]]:
    """Return slices as another process takes them."""
    return [(one.plan.to_json(), one.announcement) for one in slices]


def _land(
    folder: str, keys: Mapping[str, str], slices: Sequence[tuple[dict[str, Any], Announcement]], step: str
) -> None:
    if step:
        _kill_at(step)
    land_beside(folder, keys, slices)


def _kill_at(step: str) -> None:
    when, path = step.split()
    owner_path, _, name = path.rpartition(".")
    owner = pkgutil.resolve_name(owner_path)
    original = getattr(owner, name)

    def killing(*args: Any, **kwargs: Any) -> Any:
        if when == "after":
            original(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, killing)
