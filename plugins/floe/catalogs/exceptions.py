"""Errors of catalogs and tables."""

from floe.exceptions import FloeError, Retryable, Terminal


class CatalogError(FloeError):
    """Any error of ``floe.catalogs``."""


class CatalogUnreachable(CatalogError, Retryable):
    """The catalog, or the store behind it, did not answer."""


class CatalogMisconfigured(CatalogError, Terminal):
    """The catalog's properties are not usable."""


class TableRefused(CatalogError, Terminal):
    """The table does not take what is to be written: replaced, rolled back, changed by hand, or not permitted."""


class TableMissing(CatalogError, Terminal):
    """A table does not exist and may not be created."""


class TableUnsuitable(CatalogError, Terminal):
    """A table cannot be created or written as asked."""


class CodeRefused(TableUnsuitable):
    """A property names a class that floe does not load."""
