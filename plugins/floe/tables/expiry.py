"""Expiry: which snapshots a commit takes out of a table's metadata, and which floe still needs.

Iceberg's retention keeps the heads of branches and tags, and of each branch what its rules keep. floe also keeps, of
each branch, the anchor of each ledger, the newest snapshot of each connector (without a ledger, it shows that there was
one), and the newest one with each property of a Kafka Connect sink, which reads them by walking back. Of a branch that
was rolled back behind a ledger, floe keeps the path from the ledger's anchor to the branch, which shows what was lost.

Where a snapshot in between expires, a link in a table property leads on from each snapshot that is left: any of them may
become the head of a branch again. A link records which snapshot is an ancestor of which, and that never changes. Expiry
changes metadata only: files that no snapshot needs any more are left to maintenance.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from pyiceberg.table import Table, TableProperties
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRef, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    TableRequirement,
    TableUpdate,
)

from floe.catalogs.clock import age_of
from floe.config.libraries.table_property_names import IN_EXPIRY
from floe.config.sections.table_properties import whole_number
from floe.model.exceptions import LedgerUnreadable
from floe.model.ledger import Ledger
from floe.model.ledger_codec import MAX_VALUE_LENGTH, ledger_names, read_properties
from floe.tables.history import GROUP, LINKS, SnapshotGraph, is_before, write_links

log = logging.getLogger(__name__)

MAX_PER_COMMIT = 100
"""Snapshots that one commit takes out, the oldest first: a table that comes with thousands drops them gradually."""

SINK = "kafka.connect."


class Expired(NamedTuple):
    """What expires. ``links``: the property that leads over the gaps from then on, empty for none."""

    snapshots: tuple[int, ...] = ()
    refs: tuple[str, ...] = ()
    links: str = ""

    def __bool__(self) -> bool:
        return bool(self.snapshots or self.refs)


@dataclass(frozen=True)
class Expiry:
    """One table as a commit would leave it: ``added`` is the head of ``branch``, ``ledger`` the one named so."""

    table: str
    metadata: TableMetadata
    branch: str
    added: Snapshot
    ledger_name: str
    ledger: Ledger

    def due(self) -> Expired:
        """Return what may expire now: nothing where the table's properties do not say so, or where it is not certain."""
        retention = Retention.of(self.table, self.metadata.properties)
        if retention is None:
            return Expired()
        try:
            anchors = self._anchors()
        except LedgerUnreadable as error:
            _warn(self.table, str(error))
            return Expired()
        graph = SnapshotGraph.of(self.metadata)
        if not graph.links and LINKS in self.metadata.properties:
            _warn(self.table, f"its property {LINKS!r} was changed by hand: remove it, or set it back")
            return Expired()
        return self._due(retention, anchors, graph.committed(self.branch, self.added))

    def _due(self, retention: Retention, anchors: Mapping[str, int], graph: SnapshotGraph) -> Expired:
        refs = self._old_refs(retention, graph)
        heads = {name: head for name, head in graph.heads.items() if name not in refs}
        lines = {name: list(graph.line(head)) for name, head in heads.items() if self._is_branch(name)}
        counts = {
            name: _retained(line, retention.on(self.metadata.refs.get(name)), self.added)
            for name, line in lines.items()
        }
        retained = {s.snapshot_id for name, line in lines.items() for s in line[: counts[name]]}
        newest_of_each = {one for name, line in lines.items() for one in _newest_of_each(line, line[counts[name] :])}
        anchored = {one for one in anchors.values() if one in graph.snapshots}
        rollback_paths = set(_rollback_paths(lines, anchors, graph))
        found_by_walking = newest_of_each | anchored | rollback_paths
        protected = found_by_walking | retained | set(heads.values())

        reachable = {s.snapshot_id for line in lines.values() for s in line}
        old = [
            s
            for s in self.metadata.snapshots
            if s.snapshot_id not in protected and (s.snapshot_id in reachable or _is_old(s, retention, self.added))
        ]
        old.sort(key=lambda s: (s.sequence_number or 0, s.timestamp_ms))
        gone = dict.fromkeys(s.snapshot_id for s in old[:MAX_PER_COMMIT])
        if not gone and not refs:
            return Expired()
        left = graph.snapshots.keys() - gone.keys()
        for ends in (left, found_by_walking):  # with many tags, links lead only to what must be found
            text = write_links(graph.links_over(gone, ends))
            if len(text) <= MAX_VALUE_LENGTH:
                return Expired(tuple(gone), tuple(refs), text)
        _warn(self.table, f"links over expired snapshots do not fit into property {LINKS!r}")
        return Expired()

    def _is_branch(self, name: str) -> bool:
        """Return whether a head is a branch's; the one that the commit begins is no ref of the table yet."""
        ref = self.metadata.refs.get(name)
        return ref is None or ref.snapshot_ref_type == SnapshotRefType.BRANCH

    def _anchors(self) -> dict[str, int]:
        """Return the anchor of each ledger of the table, a snapshot id. Raises LedgerUnreadable."""
        properties = self.metadata.properties
        found = {n: read_properties(n, properties) for n in ledger_names(properties) if n != self.ledger_name}
        found[self.ledger_name] = self.ledger
        return {name: one.anchor.snapshot_id for name, one in found.items() if one is not None and one.anchor}

    def _old_refs(self, retention: Retention, graph: SnapshotGraph) -> list[str]:
        """Return tags and branches that are past their age; not those that floe writes to, or has a ledger of."""
        ledgers = (self.ledger_name, *ledger_names(self.metadata.properties))
        old = []
        for name, ref in self.metadata.refs.items():
            head, most = graph.snapshots.get(ref.snapshot_id), retention.on(ref).max_ref_age
            if name in (MAIN_BRANCH, self.branch) or any(ledger.endswith(f".{name}") for ledger in ledgers):
                continue
            if head is not None and most is not None and age_of(head.timestamp_ms, self.added.timestamp_ms) > most:
                old.append(name)
        return old


def _is_old(snapshot: Snapshot, retention: Retention, newest: Snapshot) -> bool:
    return retention.max_age is not None and age_of(snapshot.timestamp_ms, newest.timestamp_ms) > retention.max_age


def _retained(line: Sequence[Snapshot], retention: Retention, newest: Snapshot) -> int:
    """Return how many snapshots a branch keeps, from its head backwards to the first that it does not."""
    ages = (age_of(s.timestamp_ms, newest.timestamp_ms) for s in line)
    return next((i for i, age in enumerate(ages) if not retention.keeps(i, age)), len(line))


def _newest_of_each(line: Iterable[Snapshot], old: Iterable[Snapshot]) -> Iterable[int]:
    """Yield the newest snapshot of each connector, and of each property that a sink looks up, that old ones have."""
    wanted = {one for snapshot in old for one in _reported_properties(snapshot)}
    for snapshot in line:
        if not wanted:
            return
        reported = wanted & _reported_properties(snapshot)
        if reported:
            wanted -= reported
            yield snapshot.snapshot_id


def _reported_properties(snapshot: Snapshot) -> set[str]:
    names = {} if snapshot.summary is None else snapshot.summary.additional_properties
    reported = {name for name in names if name.startswith(SINK)}
    return reported | {f"{GROUP}={names[GROUP]}"} if GROUP in names else reported


def _rollback_paths(
    lines: Mapping[str, Sequence[Snapshot]], anchors: Mapping[str, int], graph: SnapshotGraph
) -> Iterable[int]:
    """Yield the path from each ledger that its branch no longer leads to, down to where it meets that branch.

    Of the path from there up to the branch's head, also yield what the ledger's connector may have made: snapshots with
    lower numbers than the anchor. Of the others yield the first, which shows that a gap above it is theirs.
    """
    for ledger, anchor in anchors.items():
        for branch, line in lines.items():
            if anchor not in graph.snapshots or not ledger.endswith(f".{branch}"):
                continue
            places = {s.snapshot_id: i for i, s in enumerate(line)}
            if anchor in places:
                continue
            left_behind = [s.snapshot_id for s in graph.line_down_to(anchor, places)]
            yield from left_behind
            fork = places.get(left_behind[-1], len(line))
            number = graph.snapshots[anchor].sequence_number
            yield from (s.snapshot_id for s in line[:fork] if is_before(s, number))
            yield from [s.snapshot_id for s in line[:fork] if not is_before(s, number)][-1:]


@cache
def _warn(table: str, why: str) -> None:
    log.warning("table %s: no snapshot expires: %s", table, why)


# How long a table's properties keep its snapshots: Iceberg's ``history.expire.*``, and a count of floe's own.


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
    def of(cls, table: str, properties: Mapping[str, str]) -> Retention | None:
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
                _warn_of_value(table, name, text, lowest)
                return None
        has_history = MAX_AGE in properties or MIN_SNAPSHOTS in properties
        default_age = TableProperties.MAX_SNAPSHOT_AGE_MS_DEFAULT if has_history else None
        return cls(
            max_age=default_age if values[MAX_AGE] is None else values[MAX_AGE],
            min_snapshots=values[MIN_SNAPSHOTS] or TableProperties.MIN_SNAPSHOTS_TO_KEEP_DEFAULT,
            max_snapshots=values[MAX_SNAPSHOTS] or None,
            max_ref_age=values[MAX_REF_AGE],
        )

    def on(self, ref: SnapshotRef | None) -> Retention:
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
def _warn_of_value(table: str, name: str, text: str, lowest: int | None) -> None:
    log.warning(
        "table %s: no snapshot expires, as its property %r is %r and not a whole number from %s on: correct it",
        table,
        name,
        text,
        lowest,
    )


# Expiry as part of a catalog commit.


@dataclass(frozen=True)
class Changes:
    """What an expiry adds to a commit; ``properties`` are set, ``removals`` are properties that go."""

    updates: Sequence[TableUpdate] = ()
    requirements: Sequence[TableRequirement] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    removals: Sequence[str] = ()


def expiring(table: Table, branch: str, updates: Iterable[TableUpdate], ledger_name: str, ledger: Ledger) -> Changes:
    """Return what a commit of a snapshot to ``branch`` is to take out of a table."""
    added = next(update.snapshot for update in updates if isinstance(update, AddSnapshotUpdate))
    expired = Expiry(".".join(table.name()), table.metadata, branch, added, ledger_name, ledger).due()
    return taking_out(table, expired, branch)


def taking_out(table: Table, expired: Expired, moving: str | None = None) -> Changes:
    """Return what takes out the expired. Any other ref that moved meanwhile is a conflict.

    ``moving``: the branch that the commit requires to be where it is anyway.
    """
    if not expired:
        return Changes()
    metadata, name = table.metadata, ".".join(table.name())
    log.info("table %s: %s snapshots expire", name, len(expired.snapshots))
    if expired.refs:
        log.warning("table %s: branches and tags are dropped: %s", name, ", ".join(expired.refs))
    is_stale = bool(expired.snapshots) and LINKS in metadata.properties and not expired.links
    return Changes(
        # one id each: REST servers of Iceberg before 1.10 take no more (apache/iceberg#12670)
        updates=(
            *(RemoveSnapshotRefUpdate.model_validate({"ref-name": ref}) for ref in expired.refs),
            *(RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [one]}) for one in expired.snapshots),
        ),
        # a ref that another process sets to one of them meanwhile would be removed with it
        requirements=tuple(
            AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": at.snapshot_id})
            for ref, at in metadata.refs.items()
            if ref != moving
        ),
        properties={LINKS: expired.links} if expired.links else {},
        removals=[LINKS] if is_stale else [],
    )
