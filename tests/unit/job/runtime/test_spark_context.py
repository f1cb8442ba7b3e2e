"""What a submitted job imports, and what it leaves behind when it kills its JVM: every line that it logged."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from floe.operators.spark import local_mode
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


WITHOUT = """
import sys
from importlib import import_module
from floe_job.runtime.spark_context import LIBRARIES, without_pandas
with without_pandas():
    import_module(LIBRARIES)
assert "pyarrow.dataset" in sys.modules and "pandas" not in sys.modules
assert "_NotPandas" not in {type(one).__name__ for one in sys.meta_path}
import pandas
"""

FORKED = """
import os, sys
from floe_job.runtime.prefork_daemon import fork_daemon
fork_daemon()
print("pandas" in sys.modules, "pyarrow.dataset" in sys.modules)
"""


def run(program: str, **more: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, check=True, env=environment, timeout=120, text=True, capture_output=True).stdout


def test_libraries_do_without_pandas_and_others_can_import_it_afterwards() -> None:
    run(WITHOUT)


@pytest.mark.parametrize(("given", "has_pandas"), [("true", False), ("", True)])
def test_workers_of_a_local_job_have_pandas_where_they_may_make_data_frames(
    tmp_path: Path, given: str, has_pandas: bool
) -> None:
    said = run(FORKED, FLOE_DAEMON_SOCKET=str(tmp_path / "d"), FLOE_WITHOUT_PANDAS=given)
    assert said.split() == [str(has_pandas), "True"]


def test_operator_and_job_name_the_variable_alike() -> None:
    assert local_mode.WITHOUT_PANDAS == spark_context.WITHOUT_PANDAS


def test_what_cannot_be_imported_leaves_imports_as_they_were() -> None:
    before = list(sys.meta_path)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), spark_context.without_pandas():
        importlib.import_module("floe_job.no_such_module")
    assert sys.meta_path == before
