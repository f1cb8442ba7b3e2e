"""The Spark context of a submitted job: its start and end, in parallel with other work where possible."""

import fcntl
import logging
import os
import signal
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from threading import Thread
from typing import Any

from floe_job.runtime.pyspark_internals import jvm_of

log = logging.getLogger(__name__)

LIBRARIES = "floe_job.driver.slice_job"
"""Imported by the driver once there is a context; takes a second."""

WITHOUT_PANDAS = "FLOE_WITHOUT_PANDAS"
"""Set to true by the operator where neither the driver nor its workers run code of the user's."""

HALT = "spark.floe.halt"
"""Enables the quick end. The operator sets it where Spark leaves only files in the job's own folder behind."""

PASSED_ON_WITHIN, WRITTEN_WITHIN = 0.3, 0.02
"""Seconds in which the JVM takes the last lines of this process's log, and writes them."""

LISTENERS = ("spark.extraListeners", "spark.plugins")
"""Listeners set here have to be notified of the context's end."""


def prefer_installed() -> None:
    """Import PySpark from where pip installed it, with its bytecode.

    Spark's launcher puts archives of the same modules before it, which each process compiles again.
    """
    home = Path(os.environ.get("SPARK_HOME", "/"))
    if (home / "__init__.py").is_file() and str(home.parent) in sys.path:
        archives = home / "python" / "lib"
        sys.path[:] = [entry for entry in sys.path if Path(entry).parent != archives]


def start_context(max_workers: int) -> Any:
    """Start the context, and on a local master the Python workers, ``max_workers`` of them."""
    with without_pandas():  # a driver makes no data frames
        from pyspark import SparkContext

        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        # while the JVM starts its services, if it was not imported before; not earlier, as two threads that import the
        # same packages could find them incomplete
        Thread(target=_import_libraries, daemon=True).start()
        context = SparkContext.getOrCreate()
    if str(context.master).startswith("local"):
        Thread(target=_start_workers, args=(context, max_workers), daemon=True).start()
    return context


class _NotPandas(MetaPathFinder):
    """Says that there is no pandas."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            msg = "no data frames are made here"
            raise ModuleNotFoundError(msg, name=name)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Keep imports from finding pandas, which takes a quarter of a second.

    Arrow's module of datasets, which PyIceberg imports, and PySpark import it, if it is there, and do nothing with it. They
    do not try again in this process, nor in its forks: none of them may make data frames.
    """
    finder = _NotPandas()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _import_libraries() -> None:
    with without_pandas():
        import_module(LIBRARIES)


def end_context(context: Any, folder: Path, code: int) -> None:
    """Stop the Spark context. If nothing needs an orderly shutdown, kill the JVM and exit this process with the given code.

    An orderly stop takes more than a second, and a JVM that halts waits 0.3 s for threads in native code.
    """
    if not _may_halt(context, folder):
        context.stop()
        return
    jvm = int(jvm_of(context).java.lang.ProcessHandle.current().pid())
    logging.shutdown()
    _wait_until_passed_on(sys.stdout.fileno())
    os.kill(jvm, signal.SIGKILL)
    os._exit(code)


def _wait_until_passed_on(pipe: int) -> None:
    """Wait until the JVM, which passes on what this process logs, has read all of it."""
    waiting, deadline = bytearray(4), time.monotonic() + PASSED_ON_WITHIN
    with suppress(OSError):  # no pipe
        while time.monotonic() < deadline:
            fcntl.ioctl(pipe, termios.FIONREAD, waiting)
            if not int.from_bytes(waiting, sys.byteorder):
                break
            time.sleep(0.001)
    time.sleep(WRITTEN_WITHIN)


def _may_halt(context: Any, folder: Path) -> bool:
    """Return whether all that Spark leaves behind is in the job's folder, and no listener needs to be notified."""
    conf = context.getConf()
    local = Path(os.environ.get("SPARK_LOCAL_DIRS") or conf.get("spark.local.dir", "/"))  # as Spark looks
    is_behind = conf.get("spark.eventLog.enabled", "false") == "true" or any(conf.get(key, "") for key in LISTENERS)
    return conf.get(HALT, "false") == "true" and local.is_relative_to(folder) and not is_behind


def _start_workers(context: Any, most: int) -> None:
    """Start the workers while the driver loads tables; tasks use them later."""
    count = min(context.defaultParallelism, most)
    try:
        context.parallelize(range(count), count).mapPartitions(_nothing).count()
    except Exception:  # a failing job raises its own error
        log.debug("the workers were not started ahead", exc_info=True)


def _nothing(rows: Iterator[int]) -> Iterator[int]:
    return rows
