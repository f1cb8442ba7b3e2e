"""What makes a table owe its rows, and leaves the others alone."""

from floe.catalogs.exceptions import CatalogMisconfigured, TableMissing, TableUnsuitable
from floe.commit.exceptions import TableRefused
from floe.offsets.exceptions import LedgerUnreadable

REFUSALS = (TableRefused, TableMissing, TableUnsuitable, CatalogMisconfigured, LedgerUnreadable)
"""What makes a table owe its rows at once: trying again would not help before somebody mends it."""
