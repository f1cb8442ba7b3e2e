"""The Spark context of a job that was submitted: how it starts and ends, waiting for nothing that can be done beside it."""

import logging
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from floe_job.runtime.pyspark_internals import jvm_of

log = logging.getLogger(__name__)

LIBRARIES = "floe_job.driver.slice_job"
"""What the driver needs once there is a context: a second of imports."""

HALT = "spark.floe.halt"
"""Ask for the quick end. The operator sets it where nothing of Spark's outlives the job but files in the job's own folder."""

LISTENERS = ("spark.extraListeners", "spark.plugins")
"""Whoever is told here of the context's end has to be."""


def prefer_installed() -> None:
    """Import PySpark from where pip installed it, with its bytecode.

    Spark's launcher puts archives of the same in front of it, whose modules are compiled again by each process.
    """
    home = Path(os.environ.get("SPARK_HOME", "/"))
    if (home / "__init__.py").is_file() and str(home.parent) in sys.path:
        archives = home / "python" / "lib"
        sys.path[:] = [entry for entry in sys.path if Path(entry).parent != archives]


def start_context(max_workers: int) -> Any:
    """Start the context, and on a local master the Python workers, ``max_workers`` of them."""
    from pyspark import SparkContext

    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    # while the JVM starts its services, where it was not imported before; only now, as two threads that import the same
    # packages could meet them half done
    Thread(target=import_module, args=(LIBRARIES,), daemon=True).start()
    context = SparkContext.getOrCreate()
    if str(context.master).startswith("local"):
        Thread(target=_start_workers, args=(context, max_workers), daemon=True).start()
    return context


def end_context(context: Any, folder: Path, code: int) -> None:
    """End the context; where that can be, JVM and this process with it, at once, with the exit code.

    A context says good-bye for a second or more, to services that nobody asks any more.
    """
    if not _may_halt(context, folder):
        context.stop()
        return
    logging.shutdown()
    try:
        jvm_of(context).java.lang.Runtime.getRuntime().halt(code)
    finally:  # its answer never comes
        os._exit(code)


def _may_halt(context: Any, folder: Path) -> bool:
    """Say whether Spark leaves nothing behind that is not in the job's folder, and owes nobody a word."""
    conf = context.getConf()
    local = Path(os.environ.get("SPARK_LOCAL_DIRS") or conf.get("spark.local.dir", "/"))  # as Spark looks
    is_behind = conf.get("spark.eventLog.enabled", "false") == "true" or any(conf.get(key, "") for key in LISTENERS)
    return conf.get(HALT, "false") == "true" and local.is_relative_to(folder) and not is_behind


def _start_workers(context: Any, most: int) -> None:
    """Have the workers started while the driver looks at tables; they are used again."""
    count = min(context.defaultParallelism, most)
    try:
        context.parallelize(range(count), count).mapPartitions(_nothing).count()
    except Exception:  # a job that fails tells itself
        log.debug("the workers were not started ahead", exc_info=True)


def _nothing(rows: Iterator[int]) -> Iterator[int]:
    return rows
