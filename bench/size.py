"""How much a run of the benchmarks measures."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

Value = TypeVar("Value")


class Size(Enum):
    """The sizes; each suite has its numbers for each."""

    FULL = "full"
    """What is published."""
    QUICK = "quick"
    """For a first impression."""
    TINY = "tiny"
    """Shows that everything runs; its figures mean nothing."""

    def of(self, full: Value, quick: Value, tiny: Value) -> Value:
        """Return the value of this size."""
        return {Size.FULL: full, Size.QUICK: quick, Size.TINY: tiny}[self]
