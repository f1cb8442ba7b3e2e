"""Records that a task rejects: they become dead letters, or the task fails because of them."""

from collections.abc import Sequence

from floe_job.contract.dead_letter import DeadLetter, dead_letters_of
from floe_job.contract.task import Task
from floe_job.dead_letters.collector import DeadLetterCollector
from floe_job.dead_letters.limits import INTOLERANT_ADVICE, UNROUTABLE_ADVICE, BadRecordCollector
from floe_job.routing.rules import Routed
from floe_job.source.record_batch import Records


class Rejects:
    """Passes dead letters on. ``bad``: those because of which the task fails at its end."""

    def __init__(self, task: Task, collector: DeadLetterCollector) -> None:
        self._task = task
        self._collector = collector
        self.bad = BadRecordCollector()

    def unrouted(self, records: Records, routed: Routed) -> tuple[int, int]:
        """Make dead letters of the records that reach no table; return how many are dead and how many were dropped."""
        malformed = dead_letters_of(records, routed.malformed, None)
        self.send(malformed)
        if not routed.unroutable:
            return len(malformed), 0
        match self._task.routes.routing.on_unroutable:
            case "drop":
                return len(malformed), len(routed.unroutable)
            case "dead-letter":
                dead_letters = dead_letters_of(records, routed.unroutable, None)
                self._collector.take(dead_letters)
                return len(malformed) + len(dead_letters), 0
            case _:
                dead_letters = dead_letters_of(records, routed.unroutable, None)
                self.bad.take(dead_letters, "have no table", UNROUTABLE_ADVICE)
                return len(malformed) + len(dead_letters), 0

    def send(self, dead_letters: Sequence[DeadLetter], problem: str = "cannot be read") -> None:
        """Collect dead letters, or count them where bad records are not tolerated: then the task fails at its end.

        ``problem``: the description of dead letters that were refused before routing.
        """
        if not dead_letters:
            return
        if not self._task.dead_letters.policy.tolerate:
            table = dead_letters[0].table
            what = f"cannot become rows of table {table!r}" if table is not None else problem
            self.bad.take(dead_letters, what, INTOLERANT_ADVICE)
            return
        self._collector.take(dead_letters)
