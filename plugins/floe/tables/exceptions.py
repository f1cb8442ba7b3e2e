"""Errors that leave one table behind and do not affect the others."""

from floe.catalogs.exceptions import CatalogMisconfigured, TableMissing, TableUnsuitable
from floe.catalogs.exceptions import TableRefused as TableRefused
from floe.exceptions import FloeError, Retryable, Terminal
from floe.model.exceptions import LedgerUnreadable


class CommitError(FloeError):
    """Any error of ``floe.commit``."""


class TableReplaced(CommitError, Retryable):
    """Another table has the name of one that files were written for; nothing was announced, the run can be repeated."""

    code = "FLOE-409"


class FilesNotWritten(CommitError, Terminal):
    """The files of a commit cannot be written from what the table contains; nothing was committed."""

    code = "FLOE-607"


class AnnouncementVoid(CommitError, Terminal):
    """An announcement names a file that does not count; nothing of it is committed."""

    code = "FLOE-604"


class AnnouncementMissing(CommitError, Retryable):
    """A slice was written but its announcement is not visible (yet)."""

    code = "FLOE-603"


class SliceNotWritten(CommitError, Terminal):
    """A slice of the plan was not written; its range is read again by the next run."""

    code = "FLOE-601"


class SliceStale(CommitError, Terminal):
    """The table's ledger changed after the slice was written; the next run makes a new plan."""

    code = "FLOE-605"


class TableNotCommitted(CommitError, Retryable):
    """A table could not be committed in time; nothing is lost, the same commit can be tried again."""

    code = "FLOE-606"


class TablesBehind(CommitError, Terminal):
    """Some tables could not be committed; all others were. Their backlogs are on record, or the error says why not."""

    code = "FLOE-602"


class ReplayIncomplete(CommitError, Terminal):
    """A replay left out tables that refused; all others were committed, and the error says how to repeat the rest."""

    code = "FLOE-609"


class DeadLettersLeft(CommitError, Terminal):
    """Every dead letter that was read again failed again; all of them stay open."""

    code = "FLOE-309"


class DeadLetterTableUnsuitable(Terminal):
    """The dead-letter table lacks a column, or has one that dead letters do not fit into."""

    code = "FLOE-417"


REFUSALS = (TableRefused, TableMissing, TableUnsuitable, CatalogMisconfigured, LedgerUnreadable)
"""Errors that leave a table behind at once: a retry would not help before the table is fixed."""
