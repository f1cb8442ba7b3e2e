"""What became of the slices of one commit, and which of several errors is the run's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from floe.commit.slice_commit import SliceOutcome
from floe.commit.table_commit import TableCommit
from floe.control.announcement import Announcement
from floe.exceptions import FloeError, Retryable
from floe.model.plan import Plan, Slice, SliceEnd, SliceKind


@dataclass(frozen=True)
class RunEnd:
    """The slices that were open, those that were announced (``found``, by id), and their outcomes, in the same order.

    A replay has fewer outcomes than slices where one of them is not done: those behind it wait.
    """

    plan: Plan
    slices: Sequence[Slice]
    found: Mapping[str, Announcement]
    outcomes: Sequence[SliceOutcome]

    @property
    def committed(self) -> tuple[TableCommit, ...]:
        """The tables, committed now or before."""
        return tuple(one for outcome in self.outcomes for one in outcome.committed)

    @property
    def done(self) -> list[tuple[Slice, SliceOutcome]]:
        """The slices of which nothing is left to be done."""
        return [(slice_, one) for slice_, one in zip(self.slices, self.outcomes, strict=False) if one.is_done]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left to be done of any slice, and nothing failed."""
        return len(self.done) == len(self.slices) and self.error is None

    @property
    def ends(self) -> list[SliceEnd]:
        """How those ended."""
        return [outcome.end for outcome in self.outcomes if outcome.end is not None]

    @property
    def ended(self) -> list[Announcement]:
        """Their announcements."""
        return [self.found[self.plan.slice_id(end.slice)] for end in self.ends]

    @property
    def error(self) -> FloeError | None:
        """The error of the run, of all that slices failed with: one that another try may not meet comes first."""
        errors = [error for outcome in self.outcomes for error in outcome.errors]
        return next((error for error in errors if isinstance(error, Retryable)), errors[0] if errors else None)

    @property
    def not_written(self) -> list[Slice]:
        """The slices without an announcement. Of a backlog nothing is missing: it stays, and the next run reads it."""
        return [
            one
            for one in self.slices
            if self.plan.slice_id(one) not in self.found and one.kind is not SliceKind.CATCH_UP
        ]

    @property
    def behind(self) -> dict[str, str]:
        """The tables that did not take their rows, each with the reason."""
        return {table: reason for outcome in self.outcomes for table, reason in outcome.behind.items()}
