"""Limits of what a slice reads, after a write that took longer than ``floe.write.timeout``.

All positions of a connector contain the same limit, in their metadata, by the name of the slice (``Slice.limit_name``). Each
write that takes too long halves it. Each slice that is committed and took less than half of the time doubles it. A slice
that reads less than the limit removes it: the limit had no effect.
"""

from collections.abc import Iterable

from floe.model.positions import Position


def halved(limit: int | None, read: int) -> int:
    """Return the limit after the write of ``read`` offsets took too long: at most half of them, and at least one."""
    half = max(1, read // 2)
    return half if limit is None else min(limit, half)


def raised(limit: int, read: int, *, is_quick: bool) -> int | None:
    """Return the limit after ``read`` offsets were committed; None when there is no limit any more.

    ``is_quick``: twice as much could be written in the time that a write may take.
    """
    if read < limit:
        return None
    return 2 * read if is_quick else read


def limit_of(positions: Iterable[Position], name: str) -> int | None:
    """Return the limit that positions contain for the slice with a name."""
    return min((limits[name] for position in positions if name in (limits := position.limits)), default=None)


def smaller(limit: int | None, other: int | None) -> int | None:
    """Return the smaller of two limits; None is no limit."""
    return min((one for one in (limit, other) if one is not None), default=None)
