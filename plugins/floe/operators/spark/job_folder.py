"""The private folder of one Spark job, and the end of those that a killed task left behind.

Its job file holds secrets until the driver has read it. A task that is killed before that removes nothing, so the next task
of floe on the same host does. A folder is in use as long as its task holds the lock on it; a lock ends with its process.
"""

from __future__ import annotations

import fcntl
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)

PREFIX = "floe-job-"
MARKER = ".floe-job"
"""A file in each of these folders: nothing else is ever removed, whatever its name."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def job_folder() -> Iterator[Path]:
    """Make a folder that only this user may enter, for as long as a job runs."""
    folder, lock = _locked_folder()
    try:
        (folder / MARKER).touch(mode=0o600)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def remove_abandoned() -> int:
    """Remove the job folders of tasks that were killed; return how many.

    Only folders of this user that floe marked, or that are empty still, and that no task has locked. Symbolic links are not
    followed. What cannot be looked at is left to the next task.
    """
    removed = 0
    with suppress(OSError):
        for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
            with suppress(OSError):
                removed += _remove_if_abandoned(path)
    if removed:
        log.info("Removed %s job folder(s) that killed tasks left behind.", removed)
    return removed


def _locked_folder() -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        # another task may take it for abandoned before it is opened, and before it is locked
        try:
            lock = os.open(folder, _OPEN)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists() and os.path.samestat(folder.lstat(), os.fstat(lock)):
            return folder, lock
        os.close(lock)


def _remove_if_abandoned(path: Path) -> bool:
    lock = os.open(path, _OPEN)
    try:
        found = os.fstat(lock)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            return False
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where a task holds it
        with os.scandir(lock) as entries:
            names = {entry.name for entry in entries}
        if names and MARKER not in names:
            return False
        shutil.rmtree(path)
        return True
    finally:
        os.close(lock)
