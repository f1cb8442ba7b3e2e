"""A record that some step refused."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rejected:
    """A record that is not a row: its index in the batch, the step that refused it, why (bounded text), the error's name."""

    index: int
    stage: str
    reason: str
    error: str
