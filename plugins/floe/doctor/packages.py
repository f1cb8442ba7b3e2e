"""A check of the installed packages against the versions that floe was tested with."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires, version

from packaging.requirements import Requirement

from floe.airflow_provider import DISTRIBUTION
from floe.config import extensions
from floe.config.catalogs.registry import TYPES
from floe.config.converters.registry import CONVERTERS
from floe.config.transforms.predicates import PREDICATES
from floe.config.transforms.registry import TRANSFORMS
from floe.doctor.case import Case
from floe.doctor.finding import About, Finding

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
