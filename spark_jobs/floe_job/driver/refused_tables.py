"""Tables that records named and that refuse: whether their records may become dead letters.

A record must not be a row and a dead letter. A run that died may have committed rows of the same offsets. A ledger that
can be read shows them. Where it cannot, the control topic does: nothing is committed that was not announced.
"""

from collections.abc import Iterable

from floe.catalogs.exceptions import LoginRefused
from floe.control.announced_offsets import announced_ranges
from floe.control.topic_reader import control_ends
from floe.kafka.admin import Cluster
from floe.model.ranges import OffsetRange
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_table import SliceTable


def refused_by_records(job: SliceJob, tables: Iterable[SliceTable]) -> list[SliceTable]:
    """Return the tables; of those that refuse, and that only records named, the records become dead letters.

    One that may contain rows of the slice, which cannot be known, is behind. Raises LoginRefused: that is no table's error.
    """
    tables = list(tables)
    unknown = [table.name for table in tables if _is_unknown(job, table)]
    if not unknown:
        return tables
    plan = job.plan
    ends = control_ends(Cluster.of_control(job.settings), plan.control_topic)
    announced = announced_ranges(job.settings, plan.control_topic, ends, plan.group_id, unknown)
    written = {name for name, ranges in announced.items() if _meet(ranges, job.slice.ranges)}
    return [
        table.without_rows(job) if table.name in unknown and table.name not in written else table for table in tables
    ]


def _is_unknown(job: SliceJob, table: SliceTable) -> bool:
    """Return whether the records of a table could be dead letters, if it were known what the table contains."""
    if table.problem is None or table.is_for_dead_letters or not job.gives_dead_letters_for(table.name):
        return False
    if isinstance(table.problem, LoginRefused):
        raise table.problem
    return True


def _meet(announced: Iterable[OffsetRange], ranges: Iterable[OffsetRange]) -> bool:
    """Return whether two sets of ranges have an offset in common."""
    by_log = {(r.topic, r.topic_id, r.partition): r for r in ranges}
    return any(
        (r := by_log.get((other.topic, other.topic_id, other.partition))) is not None
        and other.start < r.end
        and r.start < other.end
        for other in announced
    )
