"""Checks of the programs that Spark starts on this machine: Java with Spark's own files, and the Python of its workers."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from floe.doctor.check import About, Case, Finding
from floe.doctor.spark import CONNECT, SUBMIT, server_of

OLDEST_JAVA = 17
SPARK = "4.1"
"""The minor version of Spark that floe requires."""

SCALA = "2.13"
"""That of all Spark 4."""
_PRINT_VERSION = "import sys; print('floe %d.%d' % sys.version_info[:2])"
SECONDS = 10
"""For a program to say its version."""

_JAR = re.compile(r"spark-core_([\d.]+)-(\d+\.\d+)(\.\d+)?\S*\.jar")


def find_java(case: Case, about: About) -> Iterator[Finding]:
    """Start Java and look for Spark's jars, where the driver's JVM is on this machine."""
    if case.spark is not None and case.spark.conn_type == CONNECT:
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
    there = re.search(r"^floe (\d+)\.(\d+)$", _said(found, "-c", _PRINT_VERSION), re.MULTILINE)
    version = _version_text(int(there[1]), int(there[2])) if there else None
    if version == here:
        yield about.ok(f"driver and workers have Python {here}")
    else:
        shown = f"{version} ({found})" if version else f"{found}, which does not say its version"
        yield about.problem(
            f"driver has Python {here}, workers have {shown}",
            "set PYSPARK_PYTHON, or spark.pyspark.python in the connection's conf, to a Python of the driver's minor version",
        )


def _java(environ: Mapping[str, str], about: About) -> Finding:
    home = environ.get("JAVA_HOME")
    remedy = f"install Java {OLDEST_JAVA} or newer, or set JAVA_HOME in the environment of Airflow's workers"
    path = str(Path(home, "bin")) if home else environ.get("PATH")
    command = shutil.which("java", path=path)
    if command is None:
        return about.problem(f"JAVA_HOME={home!r} has no bin/java" if home else "there is no java on PATH", remedy)
    said = _said(command, "-version")
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    if match is None:
        return about.problem(
            f"{command} does not say its version within {SECONDS} s: {said[:200] or 'nothing'}", remedy
        )
    if int(match[1]) < OLDEST_JAVA:
        return about.problem(f"{command} is Java {match[1]}", remedy)
    return about.ok(f"{command} is Java {match[1]}")


def _jars(environ: Mapping[str, str], about: About) -> Finding:
    home = environ.get("SPARK_HOME")
    spec = None if home else importlib.util.find_spec("pyspark")
    folders = [home] if home else list((spec.submodule_search_locations if spec else None) or [])
    jars = [jar for folder in folders for jar in Path(folder, "jars").glob("spark-core_*.jar")]
    where = f"SPARK_HOME={home!r}" if home else "the package pyspark"
    if not jars:
        return about.problem(f"{where} has no jars of Spark", f"install pyspark {SPARK}, or correct SPARK_HOME")
    found = [_JAR.fullmatch(jar.name) for jar in sorted(jars)]
    versions = sorted({f"{one[2]} for Scala {one[1]}" if one else "of an unknown version" for one in found})
    if versions != [f"{SPARK} for Scala {SCALA}"]:
        remedy = f"floe needs Spark {SPARK} for Scala {SCALA}: install pyspark {SPARK}, or correct SPARK_HOME"
        return about.problem(f"{where} has Spark {', '.join(versions)}", remedy)
    return about.ok(f"{where} has Spark's jars ({jars[0].name})")


def _worker_python(case: Case) -> str | None:
    """Return the Python that is configured for Spark's workers; None where nothing here says it."""
    conf = case.spark.extra.get("conf") if case.spark is not None else None
    named_in_conf = conf.get("spark.pyspark.python") if isinstance(conf, Mapping) else None
    if isinstance(named_in_conf, str) and named_in_conf.strip():
        return named_in_conf.strip()
    is_here = case.spark is not None and case.spark.conn_type == SUBMIT and server_of(case.spark) is None
    if is_here and case.spark is not None and case.spark.host.startswith("local"):
        return sys.executable
    return None


def _said(*command: str) -> str:
    """Return what a program prints: both streams, as Java writes its version to the second; or why it does not run."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=SECONDS, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return "it does not end"
    except OSError as error:
        return error.strerror or str(error)
    return (done.stdout + done.stderr).strip()


def _version_text(major: int, minor: int) -> str:
    return f"{major}.{minor}"
