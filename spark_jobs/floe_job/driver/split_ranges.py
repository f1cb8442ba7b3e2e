"""Dividing a slice's ranges over tasks: whole ranges where they are small, range parts where one is hot."""

from collections.abc import Sequence

from floe.model.ranges import OffsetRange
from floe_job.source.range_part import RangePart

MIN_RANGE_PART = 20_000
"""Offsets below which a range is not divided: opening a reader costs more."""


def divide(ranges: Sequence[OffsetRange], tasks: int) -> list[tuple[RangePart, ...]]:
    """Give every task about the same number of offsets; each group is one task's range parts, none is empty."""
    total = sum(len(r) for r in ranges)
    table_files = max(MIN_RANGE_PART, -(-total // max(1, tasks)))
    range_parts = [
        RangePart(r, part.start, part.end)
        for r in ranges
        if len(r)
        for part in r.range_parts(-(-len(r) // table_files))
    ]
    groups: list[list[RangePart]] = [[] for _ in range(min(tasks, len(range_parts)))]
    loads = [0] * len(groups)
    for slice_ in sorted(range_parts, key=lambda p: p.start - p.end):
        lightest = loads.index(min(loads))
        groups[lightest].append(slice_)
        loads[lightest] += slice_.end - slice_.start
    return [tuple(sorted(group, key=lambda p: (p.range.tp, p.start))) for group in groups]
