"""The fixed points of the comparison: for each shape, the commit that it must not become slower than."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.verdict import PLAIN, Limits
from stack.exceptions import StackError

TABLE: Final = Path(__file__).parents[1] / "baseline"
_COMMIT: Final = re.compile(r"[0-9a-f]{8,40}")


@dataclass(frozen=True)
class FixedPoint:
    """A commit, and how this version has to compare with it."""

    commit: str
    limits: Limits = PLAIN


def read_baseline(file: Path = TABLE) -> Mapping[str, FixedPoint]:
    """Return the fixed point of each shape. Raises StackError for a line that is none."""
    found: dict[str, FixedPoint] = {}
    for number, line in enumerate(file.read_text().splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            try:
                shape, commit, *factor = words
                (most,) = map(float, factor) if factor else (None,)
            except ValueError:
                commit = ""
            if not _COMMIT.fullmatch(commit) or shape in found:
                msg = f"{file}, line {number}: {line!r} is not a new shape, a commit of 8 digits or more, and a factor if any"
                raise StackError(msg)
            found[shape] = FixedPoint(commit, PLAIN if most is None else Limits.of_factor(most))
    return found
