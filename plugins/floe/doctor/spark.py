"""Checks of Spark as this machine sees it: the master, Java, Spark's own files, and the Python of its workers."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from floe.config.connection_fields import ConnectionFields
from floe.doctor.addresses import named, servers_of, unreachable
from floe.doctor.case import Case
from floe.doctor.finding import About, Finding
from floe.doctor.packages import PINNED

OLDEST_JAVA = 17
CONNECT_PORT, MASTER_PORT = 15002, 7077
_SUBMIT, _CONNECT = "spark", "spark_connect"
_JAR = re.compile(r"spark-core_[\d.]+-(\d+\.\d+)(\.\d+)?\S*\.jar")


def find_master(case: Case, about: About) -> Iterator[Finding]:
    """Look at the Airflow connection to Spark, and connect to the server that it names."""
    spark = case.spark
    if spark is None:
        yield about.not_checked(f"the Airflow connection {case.connector.spark_conn_id!r} was not looked up")
        return
    where = f"the Airflow connection {spark.conn_id!r}"
    if spark.conn_type not in (_SUBMIT, _CONNECT):
        yield about.problem(
            f"{where} is of type {spark.conn_type!r}",
            "floe needs one of type 'spark' (spark-submit) or 'spark_connect': change its type, or set floe.spark.conn-id",
        )
        return
    if spark.extra.get("deploy-mode", "client") == "cluster":
        yield about.problem(
            f"{where} asks for deploy-mode cluster", "use client, which sends no job file with secrets elsewhere"
        )
    server = server_of(spark)
    if server is None:
        yield about.ok(f"{where} is of type {spark.conn_type!r} with master {spark.host or 'yarn'!r}")
        return
    why = unreachable(*server)
    if why is None:
        yield about.ok(f"Spark at {named(*server)} can be reached")
    else:
        yield about.problem(
            f"Spark at {named(*server)} cannot be reached: {why}",
            f"start it, open its port, or correct host and port in {where}",
        )


def find_java(case: Case, about: About) -> Iterator[Finding]:
    """Start Java and look for Spark's jars, where the driver's JVM is on this machine."""
    if case.spark is not None and case.spark.conn_type == _CONNECT:
        yield about.ok("the Connect server has the JVM: none is needed here")
        return
    yield _java(case.environ, about)
    yield _jars(case.environ, about)


def find_python(case: Case, about: About) -> Iterator[Finding]:
    """Compare the Python of Spark's workers with this one, as far as this machine knows it."""
    here = _version_text(*sys.version_info[:2])
    python = _worker_python(case)
    if python is None:
        yield about.ok(f"this is Python {here}: Spark's workers on other machines need {here}, too")
        return
    found = shutil.which(python)
    if found is None:
        yield about.not_checked(f"{python!r}, which Spark's workers start, is not on this machine")
        return
    there = _said(found, "-c", "import json, sys; print(json.dumps(sys.version_info[:2]))")
    version = _version_text(*json.loads(there)) if there.startswith("[") else "unknown"
    if version == here:
        yield about.ok(f"driver and workers have Python {here}")
    else:
        yield about.problem(
            f"driver has Python {here}, workers have {version} ({found})",
            "set PYSPARK_PYTHON, or spark.pyspark.python in the connection's conf, to a Python of the driver's minor version",
        )


def server_of(spark: ConnectionFields) -> tuple[str, int] | None:
    """Return the server that a connection names; None for ``local``, YARN and Kubernetes."""
    if spark.conn_type == _CONNECT:
        return (spark.host.removeprefix("sc://") or "localhost", spark.port or CONNECT_PORT)
    scheme, _, address = spark.host.rpartition("://")
    if scheme == "spark" or (spark.port and not scheme and spark.host != "yarn"):
        host, port = next(servers_of(address, spark.port or MASTER_PORT))
        return host, spark.port or port
    return None


def _java(environ: Mapping[str, str], about: About) -> Finding:
    home = environ.get("JAVA_HOME")
    remedy = f"install Java {OLDEST_JAVA} or newer, or set JAVA_HOME in the environment of Airflow's workers"
    path = str(Path(home, "bin")) if home else environ.get("PATH")
    command = shutil.which("java", path=path)
    if command is None:
        return about.problem(f"JAVA_HOME={home!r} has no bin/java" if home else "there is no java on PATH", remedy)
    said = _said(command, "-version")
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    if match is None or int(match[1]) < OLDEST_JAVA:
        return about.problem(f"{command} is Java {match[1] if match else 'of an unknown version'}", remedy)
    return about.ok(f"{command} is Java {match[1]}")


def _jars(environ: Mapping[str, str], about: About) -> Finding:
    wanted = ".".join(PINNED["pyspark"].split(".")[:2])
    home = environ.get("SPARK_HOME")
    spec = None if home else importlib.util.find_spec("pyspark")
    folders = [home] if home else list((spec.submodule_search_locations if spec else None) or [])
    jars = [jar for folder in folders for jar in Path(folder, "jars").glob("spark-core_*.jar")]
    where = f"SPARK_HOME={home!r}" if home else "the package pyspark"
    if not jars:
        return about.problem(
            f"{where} has no jars of Spark", f"install pyspark {PINNED['pyspark']}, or correct SPARK_HOME"
        )
    found = _JAR.fullmatch(jars[0].name)
    version = found[1] if found else "unknown"
    if version != wanted:
        return about.problem(f"{where} has Spark {version}", f"floe needs Spark {wanted}")
    return about.ok(f"{where} has Spark's jars ({jars[0].name})")


def _worker_python(case: Case) -> str | None:
    """Return the Python that is configured for Spark's workers; None where nothing here says it."""
    conf = case.spark.extra.get("conf") if case.spark is not None else None
    named_in_conf = conf.get("spark.pyspark.python") if isinstance(conf, Mapping) else None
    if isinstance(named_in_conf, str) and named_in_conf.strip():
        return named_in_conf.strip()
    is_here = case.spark is not None and case.spark.conn_type == _SUBMIT and server_of(case.spark) is None
    if is_here and case.spark is not None and case.spark.host.startswith("local"):
        return sys.executable
    return None


def _said(*command: str) -> str:
    """Return what a program prints: both streams, as Java writes its version to the second."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=15)
    return (done.stdout + done.stderr).strip()


def _version_text(major: int, minor: int) -> str:
    return f"{major}.{minor}"
