"""A Spark session with Iceberg's runtime in this process, on catalogs that it only reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from floe.query.catalog import SparkCatalog
from floe.query.exceptions import QueryFailed
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
