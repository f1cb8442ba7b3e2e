"""A process of Spark's that answers queries."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stack import jars

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"


READ_BY_SPARK = ("plain", "partitioned", "nested")


class Spark:
    """A process of Spark's that answers queries."""

    def __init__(self, folder: Path, more: Sequence[Path] = (), environment: Mapping[str, str] | None = None) -> None:
        """Start it; ``more``: jars beside Iceberg's runtime."""
        found = [*jars.resolve([RUNTIME], transitive=False), *more]
        self._log = (folder / "spark.log").open("w")
        program = str(Path(__file__).with_name("spark_program.py"))
        self._process = subprocess.Popen(
            [sys.executable, program, ",".join(map(str, found))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=folder,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", **(environment or {})},
        )
        self._is_ready = False

    def ask(self, sql: str, **conf: str) -> list[list[Any]]:
        """Return the rows of a query."""
        return self._send({"sql": sql, "conf": conf})

    def view(self, name: str, path: str) -> None:
        """Give a table, or one of its metadata tables, a name; ``path``: a metadata file, or a name in a catalog."""
        self._send({"view": name, "path": path})

    def _send(self, asked: dict[str, Any]) -> list[list[Any]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        if not self._is_ready:
            assert json.loads(self._process.stdout.readline()) == "ready"
            self._is_ready = True
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, list), answer["error"]
        return answer

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()
        self._log.close()
