"""Dividing a slice's ranges over tasks: whole ranges where they are small, range parts where one is hot."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from floe.model.ranges import OffsetRange, TopicPartition
from floe_job.source.range_part import RangePart

MIN_RANGE_PART = 20_000
"""Offsets below which a range is not divided: opening a reader costs more."""


_UNKNOWN: Final[Mapping[TopicPartition, int]] = MappingProxyType({})


def divide(
    ranges: Sequence[OffsetRange], tasks: int, epochs: Mapping[TopicPartition, int] = _UNKNOWN
) -> list[tuple[RangePart, ...]]:
    """Give every task about the same number of offsets; each group is one task's range parts, none is empty.

    ``epochs``: the leader epochs in which the ranges were planned.
    """
    total = sum(len(r) for r in ranges)
    per_task = max(MIN_RANGE_PART, -(-total // max(1, tasks)))
    parts = [
        RangePart(r, part.start, part.end, epochs.get(r.tp))
        for r in ranges
        if len(r)
        for part in r.split(-(-len(r) // per_task))
    ]
    groups: list[list[RangePart]] = [[] for _ in range(min(tasks, len(parts)))]
    loads = [0] * len(groups)
    for part in sorted(parts, key=lambda p: p.start - p.end):
        lightest = loads.index(min(loads))
        groups[lightest].append(part)
        loads[lightest] += part.end - part.start
    return [tuple(sorted(group, key=lambda p: (p.range.tp, p.start))) for group in groups]
