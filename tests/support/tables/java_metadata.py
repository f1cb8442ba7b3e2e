"""A table's metadata files, opened by Iceberg's own library."""

import os
import subprocess

import pytest
from pyiceberg.table import Table

from stack.jars import resolve
from stack.java import java
from tests.support.repository import ROOT

PROGRAM = ROOT / "tests" / "integration" / "java" / "MetadataCheck.java"
PACKAGES = ("org.apache.iceberg:iceberg-kafka-connect-events:1.12.0", "org.slf4j:slf4j-nop:2.0.17")


def said_by_java(table: Table) -> set[str]:
    """Return what Java says of every metadata file of a table: ``ok``, or its error."""
    modules = subprocess.run([java(), "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.compiler@" not in modules:
        pytest.skip("this Java cannot compile (no module jdk.compiler): install a JDK")
    files = [entry.metadata_file for entry in table.metadata.metadata_log] + [table.metadata_location]
    paths = [file.removeprefix("file://") for file in files]
    classpath = os.pathsep.join(map(str, resolve(PACKAGES)))
    command = [java(), "-cp", classpath, str(PROGRAM), *paths]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(said) == len(paths) > 1
    return set(said)
