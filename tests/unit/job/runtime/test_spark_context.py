"""What a submitted job imports, and what it leaves behind when it kills its JVM: every line that it logged."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from contextlib import closing

import pytest

from floe_job.runtime import spark_context
from floe_job.runtime.spark_context import _wait_until_passed_on


def test_the_last_lines_are_passed_on_before_the_jvm_is_killed() -> None:
    out, into = os.pipe()
    with closing(os.fdopen(out, "rb")) as reader, closing(os.fdopen(into, "wb", buffering=0)) as pipe:
        pipe.write(b"announced")
        taken: list[float] = []

        def take() -> None:
            time.sleep(0.1)
            taken.append(time.monotonic())
            reader.read(9)

        thread = threading.Thread(target=take)
        thread.start()
        _wait_until_passed_on(into)
        assert taken and time.monotonic() > taken[0]
        thread.join()


def test_a_jvm_that_takes_nothing_is_not_waited_for() -> None:
    out, into = os.pipe()
    with closing(os.fdopen(out, "rb")), closing(os.fdopen(into, "wb", buffering=0)) as pipe:
        pipe.write(b"announced")
        began = time.monotonic()
        _wait_until_passed_on(into)
        assert time.monotonic() - began < 10 * spark_context.PASSED_ON_WITHIN


def test_what_is_no_pipe_is_not_waited_for() -> None:
    with open(os.devnull) as nothing:  # noqa: PTH123
        _wait_until_passed_on(nothing.fileno())


def test_a_driver_imports_its_libraries_without_pandas_and_others_can_import_it_afterwards() -> None:
    program = """
import sys
from floe_job.runtime.spark_context import LIBRARIES, import_libraries
import_libraries()
assert LIBRARIES in sys.modules and "pyarrow.dataset" in sys.modules
assert "pandas" not in sys.modules
assert "_NotPandas" not in {type(one).__name__ for one in sys.meta_path}
import pandas
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment, timeout=120)


def test_libraries_that_cannot_be_imported_leave_imports_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    before = list(sys.meta_path)
    monkeypatch.setattr(spark_context, "LIBRARIES", "floe_job.no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        spark_context.import_libraries()
    assert sys.meta_path == before
