"""The interface of a type of catalog: the only place where catalogs differ.

A provider is stateless and fast to import. ``open`` imports what it needs (SQLAlchemy, requests).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pyiceberg.utils.config import Config

from floe.catalogs.errors import Answer, answer_of
from floe.catalogs.exceptions import CatalogMisconfigured
from floe.config.catalogs.store_address import ownerless_login
from floe.config.secrets.logins import group_in_catalog, stray_login

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import CommitTableResponse, Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from floe.config.sections.catalog import CatalogSpec

MAX_PROPERTY_LENGTH = 3_500
"""Characters of a table property that every catalog keeps: Hive's limit is 4,000."""


class CatalogProvider(Protocol):
    """One type of catalog."""

    @property
    def modules(self) -> tuple[str, ...]:
        """Name the modules that a process can import before the first catalog of this type is opened."""
        ...

    @property
    def max_property_length(self) -> int:
        """Return how many characters of a table property the catalog keeps."""
        ...

    @property
    def has_atomic_commit(self) -> bool:
        """Say whether a commit whose requirements do not hold changes nothing, even if other processes commit meanwhile.

        floe does not open a catalog without this guarantee.
        """
        ...

    @property
    def is_committed_by_server(self) -> bool:
        """Say whether a server makes the commit, so that its answer may differ from what it stores."""
        ...

    @property
    def keeps_history(self) -> bool:
        """Say whether a table shows older snapshots than its newest, and has branches and tags."""
        ...

    def check_branch(self, table: Table, branch: str) -> None:
        """Raise TableRefused if the catalog's tables cannot have a branch."""
        ...

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open a catalog. Raises PyIceberg's errors; ValueError, KeyError, TypeError, ImportError for bad properties."""
        ...

    def commit(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Send one commit, once. Raises CommitFailedException for a requirement that does not hold."""
        ...

    def classify(self, error: Exception, *, was_sent: bool) -> Answer:
        """Decide what an error means; ``was_sent``: a commit was under way, and may have been made."""
        ...

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Return what the operator has to correct, if an error of this catalog shows that; None if it may pass."""
        ...

    def tidy(self, table: Table, after: TableMetadata) -> None:
        """Remove the metadata files that the commit from ``table`` to ``after`` dropped from the log."""
        ...


class PlainProvider:
    """The defaults of most catalogs: PyIceberg makes the commit, and the server removes metadata files."""

    modules: tuple[str, ...] = ()
    max_property_length: int = MAX_PROPERTY_LENGTH
    has_atomic_commit: bool = True
    is_committed_by_server: bool = False
    keeps_history: bool = True

    def check_branch(self, table: Table, branch: str) -> None:
        """Allow every branch."""

    def commit(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Send one commit, once."""
        return table.catalog.commit_table(table, requirements, updates)

    def classify(self, error: Exception, *, was_sent: bool) -> Answer:
        """Classify the error as for every catalog."""
        return answer_of(error, was_sent=was_sent)

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Treat every error as one that may pass."""
        return None

    def tidy(self, table: Table, after: TableMetadata) -> None:
        """Leave all files to the catalog's server."""


def catalog_settings(spec: CatalogSpec) -> dict[str, Any]:
    """Return the settings of a catalog: PyIceberg's own for this name, overridden by the connector's.

    Raises CatalogMisconfigured, see :func:`own_settings`; and for a login of a store that the catalog could have sent to
    an address of its choice.
    """
    settings = {**own_settings(spec), **spec.for_pyiceberg()}
    if (key := ownerless_login(settings)) is not None:
        msg = (
            f"iceberg.catalog.{key} is the login of one account at Azure, and nothing says of which: whoever writes to the "
            "catalog could have it sent to another one. Nothing was sent. Set iceberg.catalog.adls.account-name"
        )
        raise CatalogMisconfigured(msg, code="FLOE-406")
    return settings


def own_settings(spec: CatalogSpec) -> dict[str, Any]:
    """Return what PyIceberg's configuration says of a catalog, without a login that the connector replaces.

    Raises CatalogMisconfigured where a login of it would go to an address of the connector's.
    """
    own: dict[str, Any] = dict(Config().get_catalog_config(spec.name) or {})
    stray = stray_login(own, spec.for_pyiceberg(), group_in_catalog)
    if stray is None:
        return own
    if not stray.is_replaced:
        problem = stray.problem(
            f"PyIceberg's configuration of catalog {spec.name!r}",
            "iceberg.catalog.{}".format,
            f"say the same address in PYICEBERG_CATALOG__{spec.name.upper()}__*",
        )
        raise CatalogMisconfigured(problem, code="FLOE-406")
    return {name: value for name, value in own.items() if name not in stray.logins}


def settings_with_address(spec: CatalogSpec) -> dict[str, Any]:
    """Return the settings of a catalog that needs an address. Raises ValueError without one."""
    settings = catalog_settings(spec)
    if not settings.get("uri"):
        msg = f"URI missing: set iceberg.catalog.uri or PYICEBERG_CATALOG__{spec.name.upper()}__URI"
        raise ValueError(msg)
    return settings
