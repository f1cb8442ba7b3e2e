"""A slice in its plan: what each of its tables is asked about."""

from dataclasses import dataclass

from floe.model.offsets import OffsetRange
from floe.model.plan import Plan, Slice, SliceKind


@dataclass(frozen=True, slots=True)
class SliceScope:
    """One slice of a plan."""

    plan: Plan
    slice: Slice

    @property
    def slice_id(self) -> str:
        return self.plan.slice_id(self.slice)

    @property
    def kind(self) -> SliceKind:
        return self.slice.kind

    def taken(self, table: str) -> tuple[OffsetRange, ...]:
        """Return the ranges whose rows a table gets: a live slice has none of partitions that it is behind on."""
        return self.plan.taken(self.slice, table)

    def is_dead_letter_table(self, table: str) -> bool:
        """Say whether a table is the connector's dead-letter table."""
        return table == self.plan.dead_letters
