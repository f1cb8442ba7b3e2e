"""The Spark job: read the slices of a plan, write their data files, announce them.

``main()`` is for spark-submit and takes the path of an order file; ``write_files(spark, order)`` is for a session
or a context in hand.
"""

import logging
import os
import sys
from pathlib import Path
from typing import Any

from floe.config.mask import hide, learn_environment
from floe.exceptions import FloeError, Terminal
from floe_job.context import end_context, prefer_installed, start_context
from floe_job.forked_daemon import fork_daemon
from floe_job.logs import start_logging
from floe_job.order import Order, Outcome

log = logging.getLogger("floe")


def write_files(spark: Any, order: Order) -> tuple[str, ...]:
    """Write every slice of the order that is not announced yet and return the ids of those that are now.

    One that fails does not keep the others from being written, but for a replay, whose slices land in order. One error is
    raised at the end, and is not logged before; the others are logged.
    """
    # not above: submitted, the driver imports them while Spark starts
    from floe_job.slices.writer import SliceWriter
    from floe_job.spark import run_on

    announced: list[str] = []
    failures: list[tuple[str, FloeError]] = []
    for piece in order.todo:
        try:
            writer = SliceWriter(order.plan, piece, order.connector, order.settings, order.key)
            announced.append(writer.write(lambda tasks: run_on(spark, tasks)).slice_id)
        except FloeError as error:
            failures.append((order.plan.slice_id(piece), error))
            if piece.kind.is_replay:
                break
    if failures:
        raised = next((failure for _, failure in failures if not isinstance(failure, Terminal)), failures[0][1])
        for slice_id, failure in failures:
            if str(failure) != str(raised):
                log.error("slice %s failed: %s", slice_id, failure)
        raise raised
    return tuple(announced)


def main(argv: list[str]) -> int:
    """Carry out an order file in a Spark context of its own and leave the outcome beside it."""
    prefer_installed()
    fork_daemon()  # before there is a log, a thread or a connection that it would share
    start_logging(sys.stdout)
    path = Path(argv[1])
    order = Order.take(path)
    learn_environment(os.environ)
    order.learn_secrets()
    context = start_context(order.connector.tasks_max)
    try:
        outcome = Outcome(announced=write_files(context, order))
    except FloeError as error:
        outcome = Outcome(error=hide(str(error)), retryable=not isinstance(error, Terminal))
    except Exception as error:  # its first line goes where the Airflow task finds it
        log.exception("the job failed")
        text = next(iter(hide(str(error)).splitlines()), "")[:300]
        outcome = Outcome(error=f"the Spark job failed: {type(error).__name__}: {text}", retryable=True)
    outcome.save(Outcome.path_of(path))
    end_context(context, path.parent, outcome.exit_code)
    return outcome.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv))
