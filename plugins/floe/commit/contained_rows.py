"""Rows that a writer left out because the table contains them: its ledger must say so, or they would be in no table."""

from floe.control.announcement import Announcement
from floe.model.slice_scope import SliceScope
from floe.modes.registry import mode_of
from floe.tables.exceptions import SliceStale
from floe.tables.lake import Lake
from floe.tables.retry import retry


def unwritten_tables(scope: SliceScope, announcement: Announcement) -> list[str]:
    """Return the tables that an announcement has no files for, as they are said to contain all their rows.

    For tables with files, the new offsets are compared with the ledger. Those that identify a repeat otherwise leave no
    row out.
    """
    return [
        name
        for name, one in announcement.tables.items()
        if one.counts.held and one.files is None and mode_of(scope, name).repeat_by == "offsets"
    ]


def check_contained(lake: Lake, scope: SliceScope, announcement: Announcement, name: str, retry_for: float) -> None:
    """Raise SliceStale when a table contains fewer offsets of a slice than rows were left out for it.

    Its ledger only grows while a run is at work, unless the table is rolled back or replaced. Raises what loading it
    raises, and TableNotCommitted when the catalog does not answer for ``retry_for`` seconds.
    """
    left_out = announcement.tables[name].counts.held
    held = retry(f"table {name!r}", retry_for, lambda: _held(lake, scope, name))
    if held < left_out:
        msg = (
            f"{left_out} rows of slice {announcement.slice_id} were not written to table {name!r} because it contained "
            f"them, but its ledger contains {held} offsets of the slice: it was rolled back or replaced meanwhile, or "
            "another writer announced. Nothing of the slice was committed. The next run plans again. Check who may write "
            "to the control topic."
        )
        raise SliceStale(msg)


def _held(lake: Lake, scope: SliceScope, name: str) -> int:
    """Return how many offsets of a slice a table contains; none where it does not exist."""
    ranges = scope.taken(name)
    state = lake.state(name, {r.topic for r in ranges})
    held = (state.ledger.held(r, state.routes[r.topic]) for r in ranges)
    return sum(end - start for spans in held for start, end in spans)
