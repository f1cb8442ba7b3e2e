"""The Spark job: read the slices of a plan, write their data files, announce them.

``main()`` is for spark-submit and takes the path of an order file; ``write_files(spark, order)`` is for a session in
hand.
"""

import logging
import sys
from pathlib import Path
from typing import Any

from floe.exceptions import FloeError, Terminal
from floe_job.order import Order, Outcome
from floe_job.slices.writer import SliceWriter
from floe_job.spark import run_on

log = logging.getLogger("floe")


def write_files(spark: Any, order: Order) -> tuple[str, ...]:
    """Write every slice of the order that is not announced yet and return the ids of those that are now.

    One that fails does not keep the others from being written, but for a replay, whose slices land in order. Its error
    is raised at the end.
    """
    announced: list[str] = []
    failures: list[FloeError] = []
    for piece in order.todo:
        try:
            writer = SliceWriter(order.plan, piece, order.connector, order.settings)
            announced.append(writer.write(lambda tasks: run_on(spark, tasks)).slice_id)
        except FloeError as error:
            log.error("slice %s failed: %s", order.plan.slice_id(piece), error)
            failures.append(error)
            if piece.kind.is_replay:
                break
    if failures:
        raise next((error for error in failures if not isinstance(error, Terminal)), failures[0])
    return tuple(announced)


def main(argv: list[str]) -> int:
    """Carry out an order file in a classic Spark session and leave the outcome beside it."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stdout)
    path = Path(argv[1])
    order = Order.load(path)
    path.unlink()  # it holds secrets, and nobody else reads it
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.getOrCreate()
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        outcome = Outcome(announced=write_files(spark, order))
    except FloeError as error:
        outcome = Outcome(error=str(error), retryable=not isinstance(error, Terminal))
    except Exception as error:  # its first line goes where the Airflow task finds it
        log.exception("the job failed")
        text = next(iter(str(error).splitlines()), "")[:300]
        outcome = Outcome(error=f"the Spark job failed: {type(error).__name__}: {text}", retryable=True)
    finally:
        spark.stop()
    outcome.save(Outcome.path_of(path))
    if outcome.error is not None:
        log.error("%s", outcome.error)
    return 0 if outcome.error is None else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv))
