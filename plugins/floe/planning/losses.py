"""Lost offsets: what retention removed before a table had it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from floe.model.exceptions import PlanRefused
from floe.model.ranges import TopicPartition

MAX_NAMED = 20
"""Lost ranges that an error names, and partitions that it proposes to accept; the log has all of them."""


@dataclass(frozen=True, slots=True)
class Loss:
    """Offsets ``[start, end)`` that the log no longer has; ``table``: of which backlog, None for new records."""

    tp: TopicPartition
    start: int
    end: int
    table: str | None = None

    @property
    def what(self) -> str:
        """The range, with its number of offsets."""
        of_table = "" if self.table is None else f" of the backlog of table {self.table!r}"
        return f"the offsets [{self.start}, {self.end}){of_table} ({self.end - self.start})"

    def __str__(self) -> str:
        return f"{self.tp} lost {self.what}"


class OffsetsLost(PlanRefused):
    """Offsets were removed before they were read, and the run does not accept that. ``losses``: all of them."""

    code = "FLOE-214"

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.losses = tuple(losses)
        named = "; ".join(map(str, self.losses[:MAX_NAMED]))
        left = len(self.losses) - MAX_NAMED
        more = f"; and {left} more, which the log above lists" if left > 0 else ""
        partitions = sorted({str(loss.tp) for loss in self.losses})
        names = partitions if len(partitions) <= MAX_NAMED else sorted({loss.tp.topic for loss in self.losses})
        super().__init__(
            f"{named}{more}: retention removed them before they were read (floe.on-data-loss = fail). Nothing was read. "
            f"Restore them; or skip them: trigger the DAG with `accept_loss`, accept_loss={json.dumps(names)}."
        )
