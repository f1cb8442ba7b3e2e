"""What makes a table owe its rows, and leaves the others alone."""

from floe.catalogs.exceptions import CatalogMisconfigured, TableMissing, TableUnsuitable
from floe.catalogs.exceptions import TableRefused as TableRefused
from floe.exceptions import FloeError, Retryable, Terminal
from floe.model.exceptions import LedgerUnreadable


class CommitError(FloeError):
    """Any error of ``floe.commit``."""


class TableReplaced(CommitError, Retryable):
    """Another table has the name of one that files were written for; nothing was announced, the run can be repeated."""


class FilesNotWritten(CommitError, Terminal):
    """Files that a commit was to have cannot be written from what the table holds; nothing was committed."""


class AnnouncementVoid(CommitError, Terminal):
    """An announcement names a file that does not count; nothing of it is committed."""


class AnnouncementMissing(CommitError, Retryable):
    """A slice was written but its announcement is not to be seen (yet)."""


class SliceNotWritten(CommitError, Terminal):
    """A slice of the plan was not written; its range is read again by the next run."""


class SliceStale(CommitError, Terminal):
    """The table's ledger moved since the slice was written; the next run plans anew."""


class TableNotCommitted(CommitError, Retryable):
    """A table could not be committed in time; nothing is lost, the same commit can be tried again."""


class TablesOwe(CommitError, Terminal):
    """Some tables could not take their rows; all others did. They are on record as owing them, or it is said why not."""


class DeadLettersLeft(CommitError, Terminal):
    """Every dead letter that was read again failed again; all of them stay open."""


REFUSALS = (TableRefused, TableMissing, TableUnsuitable, CatalogMisconfigured, LedgerUnreadable)
"""What makes a table owe its rows at once: trying again would not help before somebody mends it."""
