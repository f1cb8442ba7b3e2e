"""Spark's Kafka source, from_json and Iceberg's Spark writer, as a user of Structured Streaming runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import psutil
from pyiceberg.types import ListType, NestedField, StructType

from bench.measurement import Measurement
from bench.records import PIZZA, Shape
from bench.scenario import Scenario
from bench.site import Site
from bench.topics import fill
from stack import jars
from stack.settings import REPOSITORY

PROGRAM = REPOSITORY / "bench" / "programs" / "run_spark_source.py"
ICEBERG = ("org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",)
KAFKA = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
    # the token provider of the 4.x line is not published everywhere; this one works as well
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:3.5.1",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
WARM_UP = "warm-up"
WARM_UP_RECORDS = 20_000


@dataclass
class SparkSource:
    """One classic session that stays up; ``how``: ``stream`` (trigger availableNow) or ``batch``."""

    site: Site
    how: str = "stream"
    _session: subprocess.Popen[str] | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The system's name in the report."""
        return f"Spark Kafka source ({self.how})"

    @contextmanager
    def warm(self) -> Iterator[None]:
        """Start the session and run a small job once."""
        found = [*jars.resolve(ICEBERG, transitive=False), *jars.resolve(KAFKA, transitive=False)]
        log = (self.site.folder / f"spark-source-{self.how}.log").open("w")
        command = [sys.executable, str(PROGRAM), ",".join(map(str, found)), json.dumps(self.site.catalog_props)]
        with log:
            self._session = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
                cwd=self.site.folder,
            )
        try:
            self._expect("ready")
            topic = f"{WARM_UP}-{self.how}"
            if not self.site.is_shared:
                fill(self.site.bootstrap, topic, PIZZA, WARM_UP_RECORDS)
                self.measure(Scenario(WARM_UP, PIZZA, topic, WARM_UP_RECORDS), 0)
            yield
        finally:
            assert self._session.stdin is not None
            self._session.stdin.close()
            try:
                self._session.wait(30)
            except subprocess.TimeoutExpired:
                self._session.kill()
                self._session.wait(10)

    def takes(self, scenario: Scenario) -> bool:
        """One table only: it has no routing, and a query for each of a hundred tables would read the topic as often."""
        return scenario.layout != "hundred"

    def measure(self, scenario: Scenario, number: int) -> Measurement:
        """Run one query until it has written all there is."""
        assert self._session is not None and self._session.stdin is not None
        namespace = self.site.namespace()
        names = scenario.create(self.site.catalog(), namespace)
        job = {
            "bootstrap": self.site.bootstrap,
            "topic": scenario.topic,
            "schema": _ddl(scenario.shape),
            "table": names[0],
            "checkpoint": str(self.site.work(namespace) / "checkpoint"),
            "how": self.how,
        }
        with self.site.meter(psutil.Process(self._session.pid)) as meter:
            began = time.perf_counter()
            self._session.stdin.write(json.dumps(job) + "\n")
            self._session.stdin.flush()
            self._expect("{")
            seconds = time.perf_counter() - began
            usage = meter.usage_now()
        found = self.site.visible.rows(names)
        if found != scenario.records:
            msg = f"{self.name} wrote {found} rows of {scenario.records}"
            raise RuntimeError(msg)
        return Measurement(
            scenario.name,
            self.name,
            number,
            found,
            seconds,
            usage.cpu_seconds,
            usage.resident_mb,
            more=dict(usage.parts),
        )

    def _expect(self, start: str) -> None:
        assert self._session is not None and self._session.stdout is not None
        for line in self._session.stdout:
            if line.startswith(start):
                return
        msg = f"{self.name} ended early: read spark-source-{self.how}.log"
        raise RuntimeError(msg)


def _ddl(shape: Shape) -> str:
    return ", ".join(f"{name} {_type(kind)}" for name, kind in shape.fields)


def _type(kind: object) -> str:
    if isinstance(kind, StructType):
        return f"struct<{', '.join(_field(f) for f in kind.fields)}>"
    if isinstance(kind, ListType):
        return f"array<{_type(kind.element_type)}>"
    return {"long": "bigint", "timestamptz": "timestamp"}.get(str(kind), str(kind))


def _field(one: NestedField) -> str:
    return f"{one.name}: {_type(one.field_type)}"
