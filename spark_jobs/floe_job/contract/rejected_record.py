"""A record that some step refused."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Rejected:
    """A record that is not a row: its index in the batch, the step that refused it, why (bounded text), the error's name."""

    index: int
    stage: str
    reason: str
    error: str

    def at(self, index: int) -> Rejected:
        """Return the same of another index."""
        return replace(self, index=index)
