"""The jars of a query, where Spark's own jobs have theirs: named by the caller, in Spark's settings, in Spark's folders."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from floe.config.connection_fields import ConnectionFields
from floe.query.exceptions import QueryRefused

_SETTINGS: Final[Mapping[str, str]] = {"spark.jars": ",", "spark.driver.extraClassPath": os.pathsep}
"""Spark's settings that name jars, with what is between them."""
_SCHEME: Final = re.compile(r"(file|local):(//)?(?=/)")


def jar_places(spark: ConnectionFields | None, environ: Mapping[str, str]) -> list[Path]:
    """Return the jars and folders of jars that Spark's jobs have here.

    These are what ``conf`` in the extra of the Airflow connection names, then ``SPARK_HOME/jars``, then those of pyspark.
    """
    conf = spark.extra.get("conf") if spark is not None else None
    found = conf if isinstance(conf, Mapping) else {}
    named = [
        part
        for name, separator in _SETTINGS.items()
        if isinstance(found.get(name), str)
        for part in str(found[name]).split(separator)
    ]
    places = [Path(_SCHEME.sub("", part.strip()).removesuffix("*")) for part in named if part.strip()]
    if home := environ.get("SPARK_HOME"):
        places.append(Path(home, "jars"))
    spec = importlib.util.find_spec("pyspark")
    places += [Path(folder, "jars") for folder in (spec.submodule_search_locations if spec else None) or ()]
    return places


def found_jars(packages: Sequence[str], given: Sequence[Path], places: Iterable[Path]) -> list[Path]:
    """Return the jars of the caller, ``given``, and those of ``packages`` that are elsewhere. Raises QueryRefused.

    A package is ``group:artifact:version``; another version of the same artifact is taken, too.
    """
    for place in given:
        if not place.exists():
            message = f"there is no {str(place)!r}: name a jar, or a folder of jars, by --jars"
            raise QueryRefused(message)
    own = [jar for place in given for jar in _jars_in(place)]
    others = [jar for place in places for jar in _jars_in(place)]
    made, missing = list(own), []
    for package in packages:
        artifact = package.split(":")[1]
        if _named(artifact, own):
            continue
        there = _named(artifact, others)
        if there is None:
            missing.append(package)
        else:
            made.append(there)
    if missing:
        message = (
            f"jars for Spark are missing: {', '.join(map(_file_name, missing))}. No statement was run. Get "
            f"{' and '.join(missing)} of Maven Central into a folder, and name it by --jars FOLDER; or put them into the "
            "folder jars of Spark, or into spark.jars of the Airflow connection's conf"
        )
        raise QueryRefused(message)
    return list(dict.fromkeys(made))


def _jars_in(place: Path) -> list[Path]:
    return sorted(place.glob("*.jar")) if place.is_dir() else [place] if place.is_file() else []


def _named(artifact: str, jars: Iterable[Path]) -> Path | None:
    start = f"{artifact}-"
    return next((jar for jar in jars if jar.name.startswith(start) and jar.name[len(start)].isdigit()), None)


def _file_name(package: str) -> str:
    _, artifact, version = package.split(":")
    return f"{artifact}-{version}.jar"
