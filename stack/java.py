"""The Java of this machine."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path

from stack.exceptions import Unsuitable

OLDEST = 17


def java() -> str:
    """Return the `java` to run: of JAVA_HOME if that is set, else the one on PATH, as Spark chooses it."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin"))) if home else shutil.which("java")
    if found is None:
        where = f"JAVA_HOME={home!r} has no bin/java" if home else "no java on PATH"
        message = f"{where}: install Java {OLDEST} or newer (Debian: openjdk-{OLDEST}-jre-headless), or set JAVA_HOME"
        raise Unsuitable(message)
    return found


def require_java() -> None:
    """Raise Unsuitable if Java is missing or older than Spark and Kafka need."""
    command = java()
    said = subprocess.run([command, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(?:1\.)?(\d+)', said)
    if match is None or int(match[1]) < OLDEST:
        version = match[1] if match else repr(said.strip())
        message = f"{command} is Java {version}: install Java {OLDEST} or newer, or set JAVA_HOME to one"
        raise Unsuitable(message)


def spark_jar(name: str) -> Path:
    """Return the jar `<name>-<version>.jar` that pyspark contains, without importing pyspark."""
    spec = importlib.util.find_spec("pyspark")
    folders = list(spec.submodule_search_locations or []) if spec else []
    jars = [jar for folder in folders for jar in Path(folder, "jars").glob(f"{name}-[0-9]*.jar")]
    if not jars:
        message = f"pyspark's jar {name!r} is not there: run `make setup`, and run the stack by .venv/bin/python"
        raise Unsuitable(message)
    return jars[0]
