"""What the driver needs to write one slice."""

from dataclasses import dataclass, field, replace

from floe.config import Connector
from floe.kafka.settings import KafkaSettings
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.plan_seal import PlanKey
from floe.model.slice_scope import SliceScope


@dataclass(frozen=True)
class SliceJob:
    """One slice of a plan. ``key``: signs its announcement; tasks never get it; None for a plan without a seal."""

    plan: Plan
    slice: Slice
    connector: Connector
    settings: KafkaSettings = field(repr=False)
    key: PlanKey | None = None

    @property
    def scope(self) -> SliceScope:
        """The slice in its plan."""
        return SliceScope(self.plan, self.slice)

    @property
    def slice_id(self) -> str:
        return self.plan.slice_id(self.slice)

    @property
    def topics(self) -> frozenset[str]:
        """The topics that the slice reads."""
        return frozenset(r.topic for r in self.slice.ranges)

    @property
    def is_redrive(self) -> bool:
        """Whether the slice reads dead letters again."""
        return self.slice.kind is SliceKind.REDRIVE

    @property
    def is_for_all_tables(self) -> bool:
        """Whether the slice is for every table that a record may reach."""
        return set(self.slice.tables) == set(self.connector.tables)

    @property
    def rejects_records(self) -> bool:
        """Whether this slice refuses records that reach no table, and resolves dead letters of no table."""
        return self.is_for_all_tables and self.slice.kind is not SliceKind.CATCH_UP

    def gives_dead_letters_for(self, table: str) -> bool:
        """Whether records of a table that refuses become dead letters: only a record has named it, and they are new.

        A table that the connector names is behind instead. A replay leaves any table out, and fails at its end.
        """
        connector = self.connector
        is_of_records = connector.routing.is_dynamic and not connector.is_configured(table)
        return is_of_records and self.slice.kind is SliceKind.LIVE

    @property
    def transactional_id(self) -> str:
        """The id of the producer that announces the slice; it fences another one of the same id."""
        replay = f"replay-{self.plan.plan_id}-" if self.slice.is_replay else ""
        return f"{self.connector.committing.transactional_prefix}floe-{self.connector.name}-{replay}{self.slice.index}"

    def with_open_dead_letters(self, open_dead_letters: DeadLetterOffsets) -> "SliceJob":
        """Return the job of a redrive for those of its dead letters that are still open."""
        if not self.is_redrive:
            return self
        return replace(self, slice=replace(self.slice, dead_letters=self.slice.dead_letters & open_dead_letters))
