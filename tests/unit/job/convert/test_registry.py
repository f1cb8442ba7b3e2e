"""Converters are imported by the worker that reads with them."""

from __future__ import annotations

import os
import subprocess
import sys


def test_worker_imports_no_format_that_it_does_not_read() -> None:
    asked = """
import sys
import floe_job.task.read_task
print([name for name in sys.modules if name.startswith(("floe_job.convert.avro", "floe_job.convert.protobuf"))])
"""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=environ)
    assert found.stdout.strip() == "[]"
