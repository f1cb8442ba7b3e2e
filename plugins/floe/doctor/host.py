"""Checks of this machine: the installed packages against the versions that floe was tested with, and room on its disks."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version
from pathlib import Path
from urllib.parse import unquote, urlsplit

from packaging.requirements import Requirement

from floe.airflow_provider import DISTRIBUTION
from floe.cache_folder import VARIABLE as CACHE
from floe.config import extensions
from floe.config.catalogs.catalog_types import TYPES
from floe.config.converters.converter_classes import CONVERTERS
from floe.config.transforms.kafka_records import PREDICATES
from floe.config.transforms.transform_classes import TRANSFORMS
from floe.doctor.check import About, Case, Finding

# A check of the installed packages against the versions that floe was tested with.


_AIRFLOW = "apache-airflow"


def find_packages(_: Case, about: About) -> Iterator[Finding]:
    """Compare the versions in this Python's environment with the ranges that floe's distribution asks for."""
    yield from _owners(about)
    requirements = _requirements()
    if not requirements:
        yield about.not_checked(
            f"{DISTRIBUTION} is not installed, its package is on the path: its ranges are not known"
        )
    wanted = {one.name: one for one in requirements if one.marker is None}
    optional = {one.name: one for one in requirements if one.marker is not None and one.name not in wanted}
    installed = {name: _installed(name) for name in (*wanted, *optional)}
    missing = [name for name in wanted if installed[name] is None]
    remedy = f"pip install {DISTRIBUTION}, with constraints.txt of this version of floe"
    if missing:
        of_airflow = [name for name in missing if name.startswith(_AIRFLOW)]
        others = [name for name in missing if name not in of_airflow]
        if of_airflow:
            yield about.not_checked(f"this Python has no {', '.join(of_airflow)}: run it where Airflow's workers run")
        if others:
            yield about.problem(f"not installed: {', '.join(others)}", remedy)
    spark, client = _installed("pyspark"), _installed("pyspark-client")
    if spark and client and spark != client:
        yield about.problem(
            f"pyspark {spark} and pyspark-client {client} own the same files", f"{remedy}: both need one version"
        )
    other = [
        f"{name} {found} (tested with {one.specifier})"
        for name, one in {**optional, **wanted}.items()
        if (found := installed[name]) is not None and not one.specifier.contains(found, prereleases=True)
    ]
    if other:
        yield about.warning(f"other versions are installed: {', '.join(other)}", remedy)
    elif wanted and not missing:
        yield about.ok(f"{len(wanted)} packages are of versions that floe was tested with")
    yield from _extensions(about)


def _extensions(about: About) -> Iterator[Finding]:
    """Name extensions that are not there, and what they declare in vain."""
    for registry in (CONVERTERS, TRANSFORMS, PREDICATES, TYPES):
        for declared in registry.shadowed:
            yield about.warning(f"{declared} is never used: floe has that name itself", "give it another name")
    for name, why in extensions.absent().items():
        yield about.problem(
            f"{extensions.VARIABLE} lists {name!r}, which {why}",
            "install it where Airflow's scheduler, DAG processor, API server and workers run, or take it off the list",
        )


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _owners(about: About) -> Iterator[Finding]:
    """Name other distributions that install a package ``floe``: the last one installed has the files of both."""
    for name in _other_owners():
        yield about.problem(
            f"the distribution {name!r} installs a package floe too, over that of {DISTRIBUTION} or under it",
            f"pip uninstall {name} {DISTRIBUTION}, then install {DISTRIBUTION} alone",
        )


def _other_owners() -> list[str]:
    return sorted({name for name in packages_distributions().get("floe", ()) if name != DISTRIBUTION})


def _requirements() -> list[Requirement]:
    """Return what the distribution requires; those of its extras have a marker."""
    try:
        found = [Requirement(text) for text in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        return []
    return [one for one in found if one.name != DISTRIBUTION]


# A check of the local folders that runs write to: is there room?


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
