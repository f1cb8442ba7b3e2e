"""A Spark session with Iceberg's runtime in this process, on catalogs that it only reads."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from floe.config.connection_fields import ConnectionFields
from floe.query.catalog import SparkCatalog
from floe.query.exceptions import QueryFailed, QueryRefused
from floe.query.pyspark_internals import only_reading, set_system_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOOPBACK: Final = "127.0.0.1"
_CONF: Final = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.authenticate": "true",  # with a secret in memory; else every user of this machine reaches the driver
    "spark.driver.bindAddress": _LOOPBACK,
    "spark.driver.host": _LOOPBACK,
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
_FOREIGN: Final = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED")
"""Variables of the caller's environment that would start another Spark, or another kind of session."""
_LOGGERS: Final = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""They print each error of a statement with Java's frames as JSON; it is raised, too."""
_TAIL: Final = 15


@contextmanager
def session(catalogs: Sequence[SparkCatalog], jars: Sequence[Path], log: Path) -> Iterator[SparkSession]:
    """Open a session on ``local[2]`` with the first catalog as its default, and end it with its JVM.

    ``log``: gets what the JVM says. Raises QueryFailed where Spark does not start.
    """
    for name in _FOREIGN:
        os.environ.pop(name, None)
    os.environ |= {"SPARK_LOCAL_IP": _LOOPBACK, "PYSPARK_PYTHON": sys.executable}
    log.parent.mkdir(parents=True, exist_ok=True)
    spark = _start(jars, log)
    try:
        for catalog in catalogs:
            set_system_properties(spark, catalog.system)
            for key, value in catalog.conf().items():
                spark.conf.set(key, value)
        spark.conf.set("spark.sql.defaultCatalog", catalogs[0].name)
        with only_reading():
            yield spark
    finally:
        spark.stop()


def _start(jars: Sequence[Path], log: Path) -> SparkSession:
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    for name in _LOGGERS:
        PySparkLogger.getLogger(name).disabled = True
    builder = SparkSession.builder.appName("floe query").master("local[2]")
    # On the JVM's own class path: JDBC finds drivers there, and not among jars that are added later.
    for key, value in {**_CONF, "spark.driver.extraClassPath": os.pathsep.join(map(str, jars))}.items():
        builder = builder.config(key, value)
    try:
        with _stderr_to(log):
            spark: SparkSession = builder.getOrCreate()
    except (PySparkException, OSError) as error:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-_TAIL:])
        message = (
            f"Spark did not start ({error}); it needs Java 17 or newer, on PATH or in JAVA_HOME. What it said last:\n"
        )
        raise QueryFailed(message + tail) from error
    return spark


@contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Have a process that starts meanwhile write its errors to a file for as long as it lives."""
    kept = os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


# The jars of a query, where Spark's own jobs have theirs: named by the caller, in Spark's settings, in Spark's
# folders.


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
