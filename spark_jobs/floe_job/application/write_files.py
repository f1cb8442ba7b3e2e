"""The Spark job: read the slices of a plan, write their data files, announce them.

``main()`` is for spark-submit and takes the path of a request file; ``write_files(spark, request)`` is for an existing
session or context.
"""
# ruff: noqa: E402 - what is imported is decided first

import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

# spark-submit puts the archive for workers before all else, and that lacks what a driver needs
sys.path[:] = [entry for entry in sys.path if not Path(entry).match("floe-*.zip")]

from floe.config.secrets.mask import hide, learn_environment
from floe.exceptions import FloeError, Terminal
from floe.model.exceptions import WriteTimeout
from floe.model.plan import Slice
from floe_job.logs import start_logging
from floe_job.runtime.job_files import JobRequest, JobResult, SliceMark
from floe_job.runtime.prefork_daemon import fork_daemon
from floe_job.runtime.spark_context import end_context, prefer_installed, start_context

log = logging.getLogger("floe")


def _ignore(slice_id: str) -> None:
    """Do nothing with the slice that is begun."""


def write_files(spark: Any, request: JobRequest, begin: Callable[[str], None] = _ignore) -> tuple[str, ...]:
    """Write every slice of the request that is not announced yet and return the ids of those that are now.

    If a slice fails, the others are written all the same, except in a replay, whose slices are committed in order. One
    error is raised at the end, and is not logged before; the others are logged. A slice that took too long is final for
    the run: WriteTimeout takes precedence over all others. ``begin`` is called with each slice's id before it is written.
    """
    announced: list[str] = []
    failures: list[tuple[str, FloeError]] = []
    for slice_ in request.todo:
        slice_id = request.plan.slice_id(slice_)
        begin(slice_id)
        try:
            announced.append(_write(spark, request, slice_))
        except FloeError as error:
            failures.append((slice_id, error))
            if slice_.is_replay:
                break
    if failures:
        raise _raised(failures)
    return tuple(announced)


def _write(spark: Any, request: JobRequest, slice_: Slice) -> str:
    """Write one slice within its time limit; return its id."""
    # not at the top: in a submitted job, the driver imports them while Spark starts
    from floe_job.driver.slice_job import SliceJob, write_slice
    from floe_job.runtime.spark_jobs import ProgressLog, SparkJobs
    from floe_job.runtime.time_limit import TimeLimit

    jobs = SparkJobs(spark)
    job = SliceJob(request.plan, slice_, request.connector, request.settings, request.key)
    timeout_ms = request.connector.reading.write_timeout_ms
    with ProgressLog(jobs, slice_):
        if timeout_ms is not None:
            return TimeLimit(timeout_ms, slice_, jobs).run(partial(write_slice, job, jobs.run)).slice_id
        return write_slice(job, jobs.run).slice_id


def _raised(failures: Sequence[tuple[str, FloeError]]) -> FloeError:
    """Return the error that counts, and log the others."""
    raised = next((failure for _, failure in failures if not isinstance(failure, Terminal)), failures[0][1])
    timed_out = [(slice_id, failure) for slice_id, failure in failures if isinstance(failure, WriteTimeout)]
    if timed_out:
        raised = WriteTimeout(str(timed_out[0][1]), [slice_id for slice_id, _ in timed_out])
    for slice_id, failure in failures:
        if str(failure) != str(raised):
            log.error("slice %s failed: %s", slice_id, failure)
    return raised


def main(argv: list[str]) -> int:
    """Run a request file in a Spark context of its own and write the result beside it."""
    prefer_installed()
    fork_daemon()  # before there is a log, a thread or a connection that it would share
    start_logging(sys.stdout)
    path = Path(argv[1])
    request = JobRequest.take(path)
    learn_environment(os.environ)
    request.learn_secrets()
    context = start_context(request.connector.reading.tasks)
    try:
        result = JobResult(announced=write_files(context, request, SliceMark.of(path).set))
    except WriteTimeout as error:
        result = JobResult(error=hide(str(error)), timed_out=error.slices)
    except FloeError as error:
        result = JobResult(error=hide(str(error)), retryable=not isinstance(error, Terminal), code=error.code)
    except Exception as error:  # the Airflow task reads its first line from the result
        log.exception("the job failed")
        text = next(iter(hide(str(error)).splitlines()), "")[:300]
        result = JobResult(error=f"the Spark job failed: {type(error).__name__}: {text}", retryable=True)
    result.save(JobResult.path_of(path))
    end_context(context, path.parent, result.exit_code)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
