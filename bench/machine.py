"""What the figures were measured on."""

from __future__ import annotations

import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import psutil

from stack.java import java
from stack.services.broker import KAFKA
from stack.services.kafka_connect import CONNECT


def details() -> dict[str, str]:
    """Return the properties of the machine and the versions in use."""
    said = subprocess.run([java(), "-version"], capture_output=True, text=True, check=True).stderr
    packages = ("pyspark", "pyiceberg", "pyarrow", "confluent-kafka", "apache-airflow")
    return {
        "processor": _processor(),
        "cores": str(psutil.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "Python": platform.python_version(),
        "Java": next(line for line in said.splitlines() if "version" in line).split('"')[1],
        **{name: version(name) for name in packages},
        "Kafka": f"{KAFKA} (broker), {CONNECT} (Connect)",
        "Iceberg (Java)": "1.12.0",
    }


def text(found: dict[str, str]) -> str:
    """Return the details in one line."""
    return ", ".join(f"{name} {value}" for name, value in found.items())


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
