"""The driver's part of the job: one slice, in four steps.

``prepare`` reads the catalog and Kafka's offsets. ``run_rounds`` runs the tasks, which read and write. ``check`` compares
what they did with their input. ``announce`` sends the announcement once.
"""

import time

from floe.control.announcement import Announcement
from floe.kafka.transactions import TransactionalProducer
from floe_job.driver.announce_gate import AnnounceGate
from floe_job.driver.announcement import announce
from floe_job.driver.inputs import logs_after_reading, prepare
from floe_job.driver.job import SliceJob
from floe_job.driver.rounds import RunTasks, run_rounds
from floe_job.driver.slice_check import check

__all__ = ["AnnounceGate", "RunTasks", "SliceJob", "write_slice"]


def write_slice(job: SliceJob, run_tasks: RunTasks, gate: AnnounceGate | None = None) -> Announcement:
    """Read a slice, write its files and announce them. Raises only before anything is announced.

    ``run_tasks`` runs tasks on Spark and returns the results of those attempts that succeeded. ``gate``: entered before
    anything is sent, and raises if nothing may be.
    """
    begun = time.monotonic()
    inputs = prepare(job)
    outcome = run_rounds(inputs, run_tasks)
    producer = TransactionalProducer.connecting(job.settings, job.transactional_id)  # while what was written is checked
    checked = check(inputs, outcome, logs_after_reading(inputs.job))
    return announce(inputs, checked, gate or AnnounceGate(), begun, producer)
