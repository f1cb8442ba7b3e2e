"""What a maintenance job is, what it goes by, and what it reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar, runtime_checkable

from pyiceberg.table.metadata import TableMetadata

from floe.exceptions import FloeError, Retryable
from floe.tables.change import Change
from floe.tables.table_state import TableState

Counts = Mapping[str, int]
"""How many, by what is counted: snapshots, branches and tags, data files, bytes."""


@dataclass(frozen=True)
class Policy:
    """A table's maintenance settings: its properties. Each job reads its own, and does nothing where there are none."""

    table: str
    properties: Mapping[str, str]

    @classmethod
    def of(cls, state: TableState) -> Policy:
        """Read the policy of a table. Raises what keeps the table from being read."""
        return cls(state.name, state.required().metadata.properties)


@dataclass(frozen=True)
class Report:
    """What a job did to a table, or on a dry run would do: ``before + added - removed == after``, for all that is counted."""

    job: str
    table: str
    is_dry_run: bool
    before: Counts = field(default_factory=dict)
    after: Counts = field(default_factory=dict)
    removed: Counts = field(default_factory=dict)
    added: Counts = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether anything was done."""
        return any(self.removed.values()) or any(self.added.values())

    def then(self, other: Report) -> Report:
        """Return the report of this one and of what the same job did next."""
        removed, added = _sum(self.removed, other.removed), _sum(self.added, other.added)
        return Report(self.job, self.table, self.is_dry_run, self.before, other.after, removed, added)

    def __str__(self) -> str:
        did = "would remove" if self.is_dry_run else "removed"
        what = ", ".join(f"{count:,} {name}" for name, count in self.removed.items() if count) or "nothing"
        new = ", ".join(f"{count:,} {name}" for name, count in self.added.items() if count)
        left = ", ".join(f"{count:,} {name}" for name, count in self.after.items())
        return f"table {self.table}: {self.job} {did} {what}" + (f", added {new}" if new else "") + f"; left: {left}"


class Effect(NamedTuple):
    """How many, by what is counted, are removed and added."""

    removed: Counts
    added: Counts = MappingProxyType({})


WorkT = TypeVar("WorkT")


@runtime_checkable
class MaintenanceJob(Protocol[WorkT]):
    """One kind of maintenance. It never changes rows, and takes nothing that floe or another program still needs.

    A job says what is due, and which change does it; ``jobs.run_job`` commits, retries and reports. A job is a new module of
    this package and one line in ``jobs.JOBS``; ``tests/contracts/test_maintenance_jobs.py`` is its suite.
    """

    name: str

    def due(self, state: TableState, policy: Policy, now_ms: int) -> WorkT | None:
        """Return what is to be done to a table by now, in epoch ms; None for nothing. It reads metadata only."""
        ...

    def change(self, state: TableState, work: WorkT) -> Change:
        """Return what does the work, in one catalog commit to the table as it was loaded.

        Asked again, of the table as it is then, when another program committed meanwhile. Raises TableRefused, and what the
        store raises.
        """
        ...

    def counts(self, metadata: TableMetadata) -> Counts:
        """Count what the job changes the number of."""
        ...

    def effect(self, work: WorkT) -> Effect:
        """Return how many of what is counted the work adds and removes."""
        ...


def _sum(one: Counts, other: Counts) -> Counts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in {**one, **other}}


# Errors of maintenance.


class MaintenanceError(FloeError):
    """Any error of ``floe.maintenance``."""


class MaintenanceDeferred(MaintenanceError, Retryable):
    """Other programs kept committing to the table; what was due is still due."""

    code = "FLOE-608"
