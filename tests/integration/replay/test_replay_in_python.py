"""``floe.replay``: what the replay DAG does, in a user's own program with a Spark session of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.runs.pipeline import MakePipeline
from tests.support.runs.replacements import eaten

PROGRAM = """
import json, sys
from pathlib import Path

from pyspark.sql import SparkSession

from floe import read_connector, replay
from floe.exceptions import FloeError

connector = read_connector(Path(sys.argv[1]))
kafka = {"bootstrap.servers": sys.argv[2]}
dry = replay(connector, None, kafka=kafka)
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
found = {"dry": [dry.plan.is_dry, dry.report]}
for name, params in {"appended": {"overlap": "append", "branch": "audit"}, "skipped": {}}.items():
    done = replay(connector, spark, kafka=kafka, ranges={"0": [10, 20]}, **params)
    found[name] = sum(table.counts.rows for table in done.report.committed) if done.report else None
try:
    replay(connector, spark, kafka=kafka, ranges={"0": [90, 2000]})
except FloeError as error:
    found["refused"] = error.code
spark.stop()
print(json.dumps(found))
"""


def test_range_is_replayed_by_a_program_of_the_user(pipeline: MakePipeline, tmp_path: Path) -> None:
    one = eaten(pipeline)
    file = tmp_path / "orders.json"
    file.write_text(json.dumps({**one.connector.properties, "name": one.connector.name}))
    environ = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "FLOE_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(file), one.bootstrap],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("{")]  # Spark may log behind it
    found = json.loads(line)
    assert found["dry"] == [True, None]
    assert found["refused"] == "FLOE-302"
    assert found["appended"] == 10
    assert found["skipped"] is None
    assert one.column("id") == list(range(200))
