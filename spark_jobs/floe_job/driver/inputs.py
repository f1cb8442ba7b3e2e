"""All that the write of a slice needs from the catalog and from Kafka, requested before anything is read."""

import logging
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from floe.catalogs.client import Tables
from floe.control.recent_tables import recent_tables
from floe.kafka.admin import Cluster
from floe.model.ranges import PartitionLog, TopicPartition
from floe.tables.table_state import TableStates
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

    ``lookup``: the catalog, for tables and columns that records turn out to need. ``attempt``: differs between attempts to
    write the slice.
    """

    job: SliceJob
    dead_letters: SliceDeadLetters
    tables: SliceTables
    parts: tuple[tuple[RangePart, ...], ...]
    lookup: TableLookup
    attempt: str = field(default_factory=lambda: uuid.uuid4().hex)


def prepare(job: SliceJob) -> SliceInputs:
    """Open the tables of a slice, with their ledgers and open dead letters. Raises the error that prevents reading."""
    states = TableStates(Tables.of(job.connector), job.connector, job.plan.cluster_id)
    dead_letters = SliceDeadLetters.open(job, states)
    job = job.with_open_dead_letters(dead_letters.scan_open_dead_letters)
    log.info(
        "slice %s (%s): %s ranges, %s offsets, for %s",
        job.slice_id,
        job.slice.kind,
        len(job.slice.ranges),
        job.slice.records,
        ", ".join(job.slice.tables) or "the tables that records name",
    )
    lookup = TableLookup(job, states)
    tables = lookup.open(_recent_tables(job))
    parts = tuple(divide(job.slice.ranges, job.connector.tasks_max))
    return SliceInputs(job, dead_letters, tables, parts, lookup)


def logs_after_reading(job: SliceJob) -> Mapping[TopicPartition, PartitionLog]:
    """Return the logs of the slice's topics as they are now. Call it after the slice was read, not before."""
    logs = Cluster.of_source(job.settings).logs(sorted(job.topics))
    return {log.tp: log for log in logs}


def _recent_tables(job: SliceJob) -> frozenset[str]:
    """Return the tables that the slice's records will most likely name."""
    if job.slice.tables:
        return frozenset()
    plan = job.plan
    behind = {table for position in plan.positions for table in position.backlogs}
    recent = recent_tables(job.settings, plan.control_topic, plan.control_ends, plan.group_id)
    named = {table for table in recent if job.connector.may_name(job.topics, table)}
    return frozenset(named | behind) - {plan.dead_letters or ""}
