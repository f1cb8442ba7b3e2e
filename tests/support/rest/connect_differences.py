"""Where floe answers differently from a Connect worker, by call and field.

Each has a row in ``docs/reference/connect-rest.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Difference:
    """``row``: the first cell of the row with the reason. ``calls`` and ``fields``: patterns of names and of paths."""

    row: str
    calls: tuple[str, ...]
    fields: tuple[str, ...]

    def covers(self, call: str, path: str) -> bool:
        """Whether it is about a field of the answer to a call."""
        return any(fnmatchcase(call, one) for one in self.calls) and any(fnmatchcase(path, one) for one in self.fields)


DIFFERENCES: tuple[Difference, ...] = ()


def unexplained(call: str, paths: Iterator[str]) -> list[str]:
    """Return the fields of an answer that differ without a row."""
    return [path for path in paths if not any(one.covers(call, path) for one in DIFFERENCES)]
