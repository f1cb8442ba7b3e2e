"""Errors of catalogs and tables."""

from __future__ import annotations

from floe.exceptions import FloeError, Retryable, Terminal


class CatalogError(FloeError):
    """Any error of ``floe.catalogs``."""


class CatalogUnreachable(CatalogError, Retryable):
    """The catalog, or the store behind it, did not answer."""

    code = "FLOE-401"


class CatalogFailed(CatalogUnreachable):
    """The catalog answered with an error that floe does not know: it may pass, or come again."""

    code = "FLOE-423"


class CatalogMisconfigured(CatalogError, Terminal):
    """The catalog's properties are not usable."""

    code = "FLOE-402"


class CatalogLoginRefused(CatalogMisconfigured):
    """The catalog does not accept the account: no table can be used."""


class TableRefused(CatalogError, Terminal):
    """The table cannot be written: it was replaced, rolled back or changed manually, or writing is not permitted."""

    code = "FLOE-407"


class CommitAltered(CatalogError, Terminal):
    """The catalog made a commit otherwise than it was sent: its tables cannot hold a ledger. No offset was committed."""

    code = "FLOE-419"


class TableMissing(CatalogError, Terminal):
    """A table does not exist and may not be created."""

    code = "FLOE-403"


class TableUnsuitable(CatalogError, Terminal):
    """A table cannot be created or written as asked."""

    code = "FLOE-404"


class CodeRefused(TableUnsuitable):
    """A property names a class that floe does not load."""

    code = "FLOE-405"


class StoreAddressRefused(TableUnsuitable, ValueError):
    """A location or a property does not make an address of a store: no client is given it."""

    code = "FLOE-424"
