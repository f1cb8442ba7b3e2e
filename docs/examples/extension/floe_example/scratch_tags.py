"""A maintenance job: it drops tags whose names begin with ``scratch``, of tables that say ``scratch.are-dropped``."""

from __future__ import annotations

from pyiceberg.table.metadata import TableMetadata

from floe.maintenance.job import Counts, Effect, Policy
from floe.tables.change import Change, expire
from floe.tables.expiry import Expired
from floe.tables.table_state import TableState

PROPERTY = "scratch.are-dropped"


class DropScratchTags:
    """What is due, and which change does it; ``floe.maintenance.jobs`` commits, retries and reports."""

    name = "drop-scratch-tags"

    def due(self, state: TableState, policy: Policy, now_ms: int) -> list[str] | None:
        """Return the names of the tags."""
        if PROPERTY not in policy.properties or policy.properties.get("gc.enabled", "true").lower() != "true":
            return None
        refs = state.required().metadata.refs
        tags = (name for name, ref in refs.items() if ref.snapshot_ref_type == "tag")
        return sorted(name for name in tags if name.startswith("scratch")) or None

    def change(self, state: TableState, work: list[str]) -> Change:
        """Return the change that drops them."""
        return expire(state.branch, Expired(refs=tuple(work)))

    def counts(self, metadata: TableMetadata) -> Counts:
        """Count the tags."""
        return {"tags": sum(ref.snapshot_ref_type == "tag" for ref in metadata.refs.values())}

    def effect(self, work: list[str]) -> Effect:
        """Return how many are dropped."""
        return Effect({"tags": len(work)})


DROP_SCRATCH_TAGS = DropScratchTags()
