"""A check of the local folders that runs write to: is there room?"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from floe.cache_folder import VARIABLE as CACHE
from floe.doctor.case import Case
from floe.doctor.finding import About, Finding

WARNING_BYTES, PROBLEM_BYTES = 2 * 1024**3, 200 * 1024**2


def find_room(case: Case, about: About) -> Iterator[Finding]:
    """Look at the free space of each file system once."""
    seen: set[int] = set()
    for what, folder in _folders(case):
        there = next((one for one in (folder, *folder.parents) if one.exists()), None)
        if there is None or there.stat().st_dev in seen:
            continue
        seen.add(there.stat().st_dev)
        usage = shutil.disk_usage(there)
        if not usage.total:
            continue  # no disk, but what a kernel shows as one
        free = usage.free
        text = f"{free / 1024**3:,.1f} GiB are free in {there} ({what})"
        remedy = "remove files there, or let Spark use another folder (SPARK_LOCAL_DIRS)"
        if free < PROBLEM_BYTES:
            yield about.problem(text, remedy)
        elif free < WARNING_BYTES:
            yield about.warning(text, remedy)
        else:
            yield about.ok(text)


def _folders(case: Case) -> Iterator[tuple[str, Path]]:
    yield "temporary files", Path(tempfile.gettempdir())
    for one in case.environ.get("SPARK_LOCAL_DIRS", "").split(","):
        if one.strip():
            yield "Spark's files", Path(one.strip())
    yield "floe's cache", _cache(case.environ)
    warehouse = case.connector.catalog.properties.get("warehouse", "")
    parts = urlsplit(warehouse)
    if parts.scheme in ("", "file") and parts.path.startswith("/"):
        yield "the warehouse", Path(unquote(parts.path))


def _cache(environ: Mapping[str, str]) -> Path:
    return Path(environ.get(CACHE) or Path(environ.get("XDG_CACHE_HOME") or "~/.cache", "floe")).expanduser()
