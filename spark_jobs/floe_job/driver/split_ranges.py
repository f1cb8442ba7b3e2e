"""Dividing a slice's ranges over tasks: whole ranges where they are small, pieces where one is hot."""

from collections.abc import Sequence

from floe.model.ranges import OffsetRange
from floe_job.source.piece import Piece

SMALLEST_PIECE = 20_000
"""Offsets below which a range is not cut: opening a reader costs more."""


def divide(ranges: Sequence[OffsetRange], tasks: int) -> list[tuple[Piece, ...]]:
    """Give every task about the same number of offsets; each group is one task's pieces, none is empty."""
    total = sum(len(r) for r in ranges)
    share = max(SMALLEST_PIECE, -(-total // max(1, tasks)))
    pieces = [Piece(r, part.start, part.end) for r in ranges if len(r) for part in r.pieces(-(-len(r) // share))]
    groups: list[list[Piece]] = [[] for _ in range(min(tasks, len(pieces)))]
    loads = [0] * len(groups)
    for piece in sorted(pieces, key=lambda p: p.start - p.end):
        lightest = loads.index(min(loads))
        groups[lightest].append(piece)
        loads[lightest] += piece.end - piece.start
    return [tuple(sorted(group, key=lambda p: (p.range.tp, p.start))) for group in groups]
