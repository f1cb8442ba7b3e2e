"""What a write mode is: everything that depends on how a table gets the rows of a slice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

from pyiceberg.table import Table

from floe.config import Connector
from floe.control.data_files import to_pyiceberg
from floe.control.table_work import TableWork
from floe.model.ledger import CommitState, Ledger
from floe.model.offsets import Intervals, OffsetRange
from floe.model.slice_scope import SliceScope
from floe.tables.change import Change, SpecFile
from floe.tables.table_state import TableState


class SnapshotMaker(Protocol):
    """Makes the snapshot of one table; asked again after each conflict, and rewrites no file twice."""

    def rewrite(self, table: Table) -> Mapping[str, str]:
        """Read and write the files that have to change before anything is sent; return properties for the summary.

        Raises TableRefused, FilesNotWritten, CatalogUnreachable.
        """
        ...

    def change(self, table: Table, summary: Mapping[str, str]) -> Change:
        """Return what is sent. Raises TableRefused."""
        ...


class WriteMode(Protocol):
    """How a table gets the rows of a slice. Implementations have no state; ``mode_of`` returns the one of a table.

    The driver asks ``check`` and ``wanted``, the commit all others.
    """

    @property
    def repeat_by(self) -> Literal["offsets", "replay", "slice"]:
        """What identifies a repeat in the table's ledger: the offsets, the replay and the slice's index, the slice."""
        ...

    @property
    def commits_without_files(self) -> bool:
        """Whether a table is announced and committed although no file was written for it."""
        ...

    @property
    def needs_branch(self) -> bool:
        """Whether the branch must exist before the commit: rows are removed from it."""
        ...

    @property
    def is_checked_first(self) -> bool:
        """Whether ``check_change`` is asked before anything of the slice is committed, its dead letters included."""
        ...

    @property
    def names_dead_letters(self) -> bool:
        """Whether the announcement names the dead letters of the ranges that were known, and those that are rows."""
        ...

    def check(self, state: TableState, scope: SliceScope, connector: Connector) -> None:
        """Raise TableRefused for an existing table that the slice cannot be written to in this mode."""
        ...

    def wanted(self, state: TableState, scope: SliceScope, r: OffsetRange) -> Intervals:
        """Return the offsets of a range that the table is to get; of a new table the ledger is empty."""
        ...

    def check_routes(
        self, table: str, ledger: Ledger, scope: SliceScope, routed: list[tuple[OffsetRange, str]]
    ) -> None:
        """Raise TableRefused when the table contains offsets under other routes that the mode cannot distinguish."""
        ...

    def state(self, ledger: Ledger, work: TableWork) -> CommitState:
        """Compare the work with the ledger. Raises ReplayForgotten."""
        ...

    def stale_reason(self, work: TableWork) -> str:
        """Describe what another run did, in what state the table is, and what to do next."""
        ...

    def check_change(self, table: Table, work: TableWork, connector: Connector) -> None:
        """Raise what the snapshot would be refused for, as far as that shows before; nothing is written."""
        ...

    def snapshots(self, work: TableWork, connector: Connector) -> SnapshotMaker:
        """Return the maker of the table's snapshot."""
        ...

    def ledger_after(self, ledger: Ledger, work: TableWork) -> Ledger:
        """Return the ledger with the work in it."""
        ...

    def contained(self, ledger: Ledger, r: OffsetRange, route: str) -> Intervals:
        """Return the offsets of a range that the table had before, for ``floe.net``."""
        ...

    def summary(self, work: TableWork) -> dict[str, str]:
        """Return the properties that only this mode adds to the snapshot's summary."""
        ...


def spec_files(work: TableWork) -> list[SpecFile]:
    """Return the announced files as PyIceberg knows data files."""
    return [
        SpecFile(spec.spec_id, to_pyiceberg(file, spec.partition_type))
        for spec in work.files.files
        for file in spec.files
    ]


def stale_message(work: TableWork, what: str) -> str:
    """Return the beginning that all stale messages have, and ``what``."""
    return f"table {work.table!r} contains other offsets than when slice {work.slice_id} was written: {what}"
