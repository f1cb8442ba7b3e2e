"""Nessie, by its Iceberg REST endpoint.

Nessie 0.99 shows only the newest snapshot of a table, and ignores two things that a client sends: refs other than main (what
is committed to a branch of the table becomes main's head), and the requirement that main does not exist. So floe commits to
main alone, and sends each commit to ``<branch>@<hash>``, with the hash that the table was loaded at. Nessie refuses it if the
table was changed since.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyiceberg.exceptions import BadRequestError, ServerError
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.update import RemoveSnapshotRefUpdate, RemoveSnapshotsUpdate, SetSnapshotRefUpdate

from floe.catalogs.errors import first_line
from floe.catalogs.exceptions import TableRefused
from floe.catalogs.providers.base import settings_with_address
from floe.catalogs.providers.rest.provider import RestProvider
from floe.catalogs.pyiceberg_patches import guard_auth_managers
from floe.config.catalogs.nessie import AUTH_TYPE, PASSWORD, USERNAME, iceberg_address

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import CommitTableResponse, Table
    from pyiceberg.table.update import TableRequirement, TableUpdate

    from floe.config.sections.catalog import CatalogSpec

_UNKNOWN_REF = "NoSuchReferenceException"
_WAREHOUSE = ("default-warehouse", "Warehouse '")


class NessieProvider(RestProvider):
    """Nessie's Iceberg REST endpoint, which is asked for at addresses of its own API too."""

    keeps_history = False

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises CatalogMisconfigured if its answer is refused, ValueError without an address."""
        # it imports requests, which other catalogs do not need
        from floe.catalogs.providers.nessie.catalog import NessieCatalog

        guard_auth_managers()
        settings = settings_with_address(spec)
        settings["uri"] = iceberg_address(str(settings["uri"]), str(settings.pop("ref", "")))
        kind = str(settings.pop(AUTH_TYPE, "NONE")).strip().upper()
        username, password = settings.pop(USERNAME, None), settings.pop(PASSWORD, None)
        if kind == "BASIC":
            settings["auth"] = {"type": "basic", "basic": {"username": username, "password": password}}
        return NessieCatalog(spec.name, **settings)

    def commit(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Send one commit, once. Raises TableRefused, before anything is sent, for what Nessie would not keep."""
        for update in updates:
            check_kept(table, update)
        return super().commit(table, requirements, updates)

    def check_branch(self, table: Table, branch: str) -> None:
        """Raise TableRefused for every branch but main, which Nessie would take for main."""
        if branch != MAIN_BRANCH:
            raise _no_refs(table)

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Name a warehouse or a branch that Nessie does not have."""
        text = first_line(error)
        if isinstance(error, ServerError) and any(one in text for one in _WAREHOUSE):
            return (
                f"catalog {spec.name!r}: Nessie answers {text!r}. Nothing was read or written. Set "
                "nessie.catalog.warehouses.<name>.location and nessie.catalog.default-warehouse in Nessie, and "
                "iceberg.catalog.warehouse to that name or that location"
            )
        if isinstance(error, BadRequestError) and _UNKNOWN_REF in text:
            return (
                f"catalog {spec.name!r}: Nessie answers {text!r}. Nothing was read or written. Create the branch in "
                "Nessie, or correct iceberg.catalog.ref"
            )
        return super().misconfiguration(spec, error)


def check_kept(table: Table, update: TableUpdate) -> None:
    """Raise TableRefused for an update that Nessie would ignore, or make to main in the place of a branch."""
    is_other = isinstance(update, SetSnapshotRefUpdate) and update.ref_name != MAIN_BRANCH
    if is_other or isinstance(update, RemoveSnapshotRefUpdate | RemoveSnapshotsUpdate):
        raise _no_refs(table)


def _no_refs(table: Table) -> TableRefused:
    """Return the error that a table in Nessie has no branches."""
    msg = (
        f"table {'.'.join(table.name())!r} is in Nessie, whose tables have no branches, tags and old snapshots of their own. "
        "Nothing was committed. Remove iceberg.tables.default-commit-branch and iceberg.table.<table>.commit-branch, and set "
        "iceberg.catalog.ref to a branch of Nessie"
    )
    return TableRefused(msg, code="FLOE-440")
