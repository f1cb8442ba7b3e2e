"""The check that nothing of another version is beside this one: old modules that a copy left, or another ``spark_jobs``.

``manifest.txt`` names every module of ``floe`` and ``floe_job``. The check lists folders once per process and reads one
small file more; in a checkout of floe itself, where modules come and go, it does nothing. ``python -m stack.manifest``
writes the manifest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
MANIFEST = PACKAGE / "manifest.txt"
JOBS_VARIABLE = "FLOE_SPARK_JOBS_DIR"
MAX_NAMED = 10
CODE = "FLOE-101"
_VERSION = re.compile(r'^__version__ = "([^"]+)"$', re.MULTILINE)


def check_installation(version: str) -> None:
    """Raise ImportError if the installed modules are not those of this version."""
    root = PACKAGE.parent.parent
    if not MANIFEST.is_file() or ((root / ".git").exists() and (root / "stack" / "manifest.py").exists()):
        return  # packed for Spark's workers; a checkout of floe itself
    expected = set(MANIFEST.read_text(encoding="utf-8").split())
    jobs = Path(os.environ.get(JOBS_VARIABLE) or root / "spark_jobs") / "floe_job"
    folders = [PACKAGE, jobs] if jobs.is_dir() else [PACKAGE]
    problems = []
    for folder in folders:
        found = set(modules(folder))
        wanted = {name for name in expected if name.startswith(f"{folder.name}/")}
        problems += [f"{folder.parent / name} is of another version" for name in sorted(found - wanted)]
        problems += [f"{folder.parent / name} is missing" for name in sorted(wanted - found)]
    if not problems and jobs.is_dir() and (other := _version_of(jobs)) != version:
        problems.append(f"{jobs} is of version {other}, {PACKAGE} of version {version}")
    if problems:
        raise ImportError(_message(problems))


def modules(folder: Path) -> Iterator[str]:
    """Yield the path of every module in a package's folder, from the folder's own name on."""
    waiting = [(str(folder), folder.name)]
    while waiting:
        path, name = waiting.pop()
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    yield f"{name}/{entry.name}"
                elif entry.name != "__pycache__" and entry.is_dir(follow_symlinks=False):
                    waiting.append((entry.path, f"{name}/{entry.name}"))


def _version_of(jobs: Path) -> str | None:
    found = _VERSION.search((jobs / "__init__.py").read_text(encoding="utf-8"))
    return found[1] if found else None


def _message(problems: list[str]) -> str:
    more = f"; and {len(problems) - MAX_NAMED} more" if len(problems) > MAX_NAMED else ""
    return (
        f"modules of different floe versions are beside each other: {'; '.join(problems[:MAX_NAMED])}{more}. Nothing was "
        f"loaded. Delete {PACKAGE} and spark_jobs/, then copy plugins/ and spark_jobs/ of one version, as in "
        f"docs/how-to/upgrade.md. See {CODE}."
    )
