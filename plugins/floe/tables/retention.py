"""How long a table's properties keep its snapshots: Iceberg's ``history.expire.*``, and a count of floe's own."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from pyiceberg.table import TableProperties
from pyiceberg.table.refs import SnapshotRef

from floe.config.libraries.table_property_names import IN_EXPIRY
from floe.config.sections.table_properties import whole_number

log = logging.getLogger(__name__)

MAX_AGE, MIN_SNAPSHOTS = TableProperties.MAX_SNAPSHOT_AGE_MS, TableProperties.MIN_SNAPSHOTS_TO_KEEP
MAX_REF_AGE = "history.expire.max-ref-age-ms"
MAX_SNAPSHOTS = "floe.expire.max-snapshots"
"""Most snapshots of a branch, 0 for any number: commits a few seconds apart never grow old."""
GC_ENABLED = "gc.enabled"


@dataclass(frozen=True)
class Retention:
    """How long snapshots and refs are kept, where a ref has no setting of its own; ages in ms, None for ever."""

    max_age: int | None
    min_snapshots: int
    max_snapshots: int | None
    max_ref_age: int | None

    @classmethod
    def of(cls, table: str, properties: Mapping[str, str]) -> "Retention | None":
        """Read a table's properties; None when nothing of it may expire.

        That is so when it has no such property, when it turned the removal of files off (as for Iceberg's Java library), or
        when a value cannot be understood, which is logged once.
        """
        if not {MAX_AGE, MIN_SNAPSHOTS, MAX_SNAPSHOTS} & properties.keys():
            return None
        if properties.get(GC_ENABLED, "true").strip().lower() != "true":
            return None
        values: dict[str, int | None] = {}
        for name, lowest in IN_EXPIRY.items():
            text = properties.get(name)
            values[name] = None if text is None else whole_number(text, lowest)
            if text is not None and values[name] is None:
                _warn(table, name, text, lowest)
                return None
        has_history = MAX_AGE in properties or MIN_SNAPSHOTS in properties
        default_age = TableProperties.MAX_SNAPSHOT_AGE_MS_DEFAULT if has_history else None
        return cls(
            max_age=default_age if values[MAX_AGE] is None else values[MAX_AGE],
            min_snapshots=values[MIN_SNAPSHOTS] or TableProperties.MIN_SNAPSHOTS_TO_KEEP_DEFAULT,
            max_snapshots=values[MAX_SNAPSHOTS] or None,
            max_ref_age=values[MAX_REF_AGE],
        )

    def on(self, ref: SnapshotRef | None) -> "Retention":
        """Return what counts on a branch: its own settings take precedence over the table's, and over the count."""
        if ref is None:
            return self
        return Retention(
            max_age=self.max_age if ref.max_snapshot_age_ms is None else ref.max_snapshot_age_ms,
            min_snapshots=self.min_snapshots if ref.min_snapshots_to_keep is None else ref.min_snapshots_to_keep,
            max_snapshots=self.max_snapshots if ref.max_snapshot_age_ms is None else None,
            max_ref_age=self.max_ref_age if ref.max_ref_age_ms is None else ref.max_ref_age_ms,
        )

    def keeps(self, kept: int, age: int) -> bool:
        """Return whether a branch that keeps ``kept`` newer snapshots also keeps another one, of this age."""
        if kept < self.min_snapshots:
            return True
        is_young = self.max_age is None or age <= self.max_age
        return is_young and (self.max_snapshots is None or kept < self.max_snapshots)


@cache
def _warn(table: str, name: str, text: str, lowest: int | None) -> None:
    log.warning(
        "table %s: no snapshot expires, as its property %r is %r and not a whole number from %s on: correct it",
        table,
        name,
        text,
        lowest,
    )
