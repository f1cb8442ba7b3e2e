"""Java programs beside the tests that ask them: compiled, and run in one process, a request and an answer a line."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from stack.jars import resolve
from stack.java import java

Ask = Callable[[Any], Any]
"""Sends a request, and returns the answer."""

QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Dfile.encoding=UTF-8")
COMPILER = ("-m", "jdk.compiler/com.sun.tools.javac.Main", "-proc:none", "-nowarn", "-XDsuppressNotes")
SOURCES = Path(__file__).parents[2] / "integration" / "java"


@contextmanager
def java_program(
    name: str, packages: Sequence[str], *arguments: str, has_long_run: bool = False, more: Sequence[Path] = ()
) -> Iterator[Ask]:
    """Run a program of ``tests/integration/java``, by its name with its package; skip the test if Java cannot compile.

    ``has_long_run``: it is worth while to optimize it. ``more``: jars before those of the packages.
    """
    modules = subprocess.run([java(), "--list-modules"], capture_output=True, text=True, check=True).stdout
    if "jdk.compiler@" not in modules:
        pytest.skip("this Java cannot compile (no module jdk.compiler): install a JDK to check floe against Java")
    jars = os.pathsep.join(map(str, [*more, *(resolve(packages) if packages else ())]))
    source = SOURCES / f"{name.rpartition('.')[2]}.java"
    with tempfile.TemporaryDirectory() as classes:
        compiler = [java(), *QUICK, *COMPILER, "-cp", jars, "-sourcepath", str(SOURCES), "-d", classes, str(source)]
        subprocess.run(compiler, check=True)
        options = QUICK[1:] if has_long_run else QUICK
        command = [java(), *options, "-cp", os.pathsep.join([classes, jars]), name, *arguments]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:
            assert process.stdin is not None
            assert process.stdout is not None
            stdin, stdout = process.stdin, process.stdout

            def ask(request: Any) -> Any:
                stdin.write(json.dumps(request) + "\n")
                stdin.flush()
                line = stdout.readline()
                assert line, "the Java program ended; what it said is on stderr"
                return json.loads(line)

            yield ask
