"""All that the write of a slice needs from the catalog and from Kafka, requested before anything is read."""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from floe.kafka.admin import Cluster
from floe.model.ranges import PartitionLog, TopicPartition
from floe.slices.code_check import check_code
from floe.slices.slice_state import SliceState
from floe_job.driver.dead_letters import SliceDeadLetters
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_tables import SliceTables
from floe_job.driver.split_ranges import divide
from floe_job.driver.table_lookup import TableLookup
from floe_job.source.range_part import RangePart

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SliceInputs:
    """What ``prepare`` found. ``job``: without what is done already. ``parts``: what each task reads.

    ``lookup``: the catalog, for tables and columns that records turn out to need. ``is_limited``: whether an earlier
    write of the slice took too long. ``attempt``: differs between attempts to write the slice.
    """

    job: SliceJob
    dead_letters: SliceDeadLetters
    tables: SliceTables
    parts: tuple[tuple[RangePart, ...], ...]
    lookup: TableLookup
    is_limited: bool = False
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)


def prepare(job: SliceJob) -> SliceInputs:
    """Open the tables of a slice, with their ledgers and open dead letters. Raises the error that prevents reading."""
    check_code(job.plan, job.connector)
    found = SliceState.read(job.connector, job.settings, job.plan, job.slice)
    dead_letters = SliceDeadLetters.of(job, found.dead_letters)
    job = job.with_open_dead_letters(dead_letters.open_dead_letters)
    log.info(
        "slice %s (%s): %s ranges, %s offsets, for %s",
        job.slice_id,
        job.slice.kind,
        len(job.slice.ranges),
        job.slice.records,
        ", ".join(job.slice.tables) or "the tables that records name",
    )
    lookup = TableLookup(job, found.lake)
    tables = lookup.open(found.recent)
    parts = tuple(divide(job.slice.ranges, job.connector.reading.tasks, job.plan.epochs))
    return SliceInputs(job, dead_letters, tables, parts, lookup, is_limited=found.is_limited)


def logs_after_reading(job: SliceJob) -> Mapping[TopicPartition, PartitionLog]:
    """Return the logs of the slice's topics as they are now. Call it after the slice was read, not before."""
    logs = Cluster.of_source(job.settings).logs(sorted(job.topics))
    return {log.tp: log for log in logs}
