"""Open a connector's catalog and its tables.

Catalog properties are passed to PyIceberg unchanged. Properties that are not set are taken from PyIceberg's own
configuration (``PYICEBERG_CATALOG__<NAME>__…`` and ``.pyiceberg.yaml``). So files need no addresses and secrets.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError as InvalidFields
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import (
    BadRequestError,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnauthorizedError,
    ValidationError,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from floe.catalogs.errors import CatalogErrors, cause_of, first_line
from floe.catalogs.exceptions import CodeRefused, TableMissing, TableUnsuitable
from floe.catalogs.providers.base import catalog_settings
from floe.catalogs.providers.catalog_providers import open_with_provider, provider_named
from floe.catalogs.table_creation import SHIPPED, NewTable
from floe.config import Connector
from floe.config.catalogs.catalog_types import TYPES
from floe.config.secrets.detection import shown_address
from floe.config.secrets.mask import clip, hide, learn, learn_environment
from floe.config.sections.catalog import CatalogSpec
from floe.config.sections.schema_rules import OnUnsuitable
from floe.config.sections.tables import TableSettings
from floe.model.ledger_codec import without_ledgers

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class CatalogClient:
    """The tables of one connector in their catalog."""

    catalog: Catalog
    connector: Connector

    @classmethod
    def of(cls, connector: Connector) -> CatalogClient:
        """Open the catalog of a connector. Raises CatalogMisconfigured or CatalogUnreachable."""
        _learn_secrets(connector)
        errors = _errors_of(connector.catalog)
        with errors.during(f"open catalog {connector.catalog.name!r}"):
            try:
                catalog = open_catalog(connector)
            except InvalidFields:
                raise  # a ValueError, but of an answer
            except (ValueError, KeyError, TypeError, ImportError, CodeRefused) as error:
                raise errors.not_opened(error) from cause_of(error)
        return cls(catalog, connector)

    def load(self, name: str) -> Table | None:
        """Load a table; None when it does not exist. Raises TableUnsuitable for properties that no table may have."""
        with self.errors(f"load table {name!r}", of_table=True):
            try:
                table = self.catalog.load_table(name)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None
            except (ValidationError, InvalidFields) as error:
                if not _is_of_metadata(error):
                    raise
                msg = (
                    f"table {name!r} cannot be loaded: PyIceberg does not understand its metadata ({_summary_of(error)}). "
                    "Nothing was committed to it. Undo the last change of the table, or use a version of floe that "
                    "supports it."
                )
                raise TableUnsuitable(hide(msg)) from cause_of(error)
        _learn_credentials(table)
        return table

    def require(self, name: str) -> Table:
        """Load a table. Raises TableMissing."""
        table = self.load(name)
        if table is None:
            msg = (
                f"table {name!r} does not exist in catalog {self.connector.catalog.name!r}. Nothing was committed. Create "
                "it, or set iceberg.tables.auto-create-enabled to true"
            )
            raise TableMissing(msg)
        return table

    def create(
        self,
        name: str,
        schema: Schema,
        settings: TableSettings | None = None,
        on_unsuitable: OnUnsuitable = "fail",
    ) -> Table:
        """Create a table with its namespaces. Return the existing table if another process created it first.

        ``settings``: partitioning, id columns and order of the new table, the connector's unless given;
        ``on_unsuitable``: what to do with a partitioning that does not fit the schema. Raises TableUnsuitable, see
        ``NewTable.of``.
        """
        new = NewTable.of(name, schema, settings or self.connector.table(name), on_unsuitable)
        with self.errors(f"create table {name!r}", of_table=True):
            refusal = self._create_namespaces(name)
            properties: Mapping[str, str] = {**SHIPPED, **self.connector.creation.properties}
            try:
                table = self.catalog.create_table(
                    name, new.schema, partition_spec=new.spec, sort_order=new.sort_order, properties=dict(properties)
                )
            except TableAlreadyExistsError:
                table = self.catalog.load_table(name)
            except NoSuchNamespaceError as error:
                msg = (
                    f"table {name!r} cannot be created: its namespace does not exist, and the catalog did not create it "
                    f"({refusal or first_line(error)}). No table was created. Create the namespace yourself, or let floe's "
                    "login create namespaces"
                )
                raise TableUnsuitable(hide(msg), code="FLOE-422") from cause_of(error)
        _learn_credentials(table)
        return table

    def names(self, namespace: str | None = None) -> list[str]:
        """List the tables of a namespace, or of all namespaces, in no order."""
        with self.errors(f"list tables{f' of {namespace}' if namespace else ''}"):
            wanted = [tuple(namespace.split("."))] if namespace else list(self._namespaces(()))
            found: list[str] = []
            for one in wanted:
                with suppress(NoSuchNamespaceError):
                    found += [".".join(identifier) for identifier in self.catalog.list_tables(one)]
            return found

    def listed(self, names: Collection[str]) -> frozenset[str] | None:
        """Return which of many tables the catalog lists, ignoring case, by one listing for each of their namespaces.

        Namespaces are listed first, so names in namespaces that do not exist cost nothing. None if the catalog does not
        support listing or does not permit it to this user. Raises CatalogUnreachable.
        """
        wanted: dict[tuple[str, ...], dict[str, str]] = {}
        for name in names:
            *parts, table = name.split(".")
            wanted.setdefault(tuple(parts), {})[table.lower()] = name
        children: dict[tuple[str, ...], frozenset[tuple[str, ...]]] = {}
        found: set[str] = set()
        with self.errors("list tables"):
            try:
                for namespace, tables in wanted.items():
                    if self._has_namespace(namespace, children):
                        listed = {identifier[-1].lower() for identifier in self.catalog.list_tables(namespace)}
                        found.update(name for table, name in tables.items() if table in listed)
            except (UnauthorizedError, ForbiddenError, NotImplementedError, PermissionError) as error:
                log.warning("catalog %s lists no tables: %s", self.connector.catalog.name, hide(first_line(error)))
                return None
        return frozenset(found)

    def _has_namespace(
        self, namespace: tuple[str, ...], children: dict[tuple[str, ...], frozenset[tuple[str, ...]]]
    ) -> bool:
        """Say whether a namespace is listed; ``children``: those listed so far, by their parent namespace."""
        for depth in range(len(namespace)):
            parent = namespace[:depth]
            if parent not in children:
                found = self.catalog.list_namespaces(parent)
                children[parent] = frozenset(tuple(part.lower() for part in one) for one in found)
            if tuple(part.lower() for part in namespace[: depth + 1]) not in children[parent]:
                return False
        return True

    def _namespaces(self, parent: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        try:
            listed = self.catalog.list_namespaces(parent)
        except (BadRequestError, NoSuchNamespaceError):
            if not parent:
                raise
            return  # a catalog whose namespaces are of one level
        for namespace in listed:
            if len(namespace) > len(parent):
                yield namespace
                yield from self._namespaces(namespace)

    def errors(self, action: str, *, committing: bool = False, of_table: bool = False) -> AbstractContextManager[None]:
        """Map the catalog's errors during an action to floe's errors, see :meth:`CatalogErrors.during`."""
        return _errors_of(self.connector.catalog).during(action, committing=committing, of_table=of_table)

    def committing(self, name: str) -> AbstractContextManager[None]:
        """Map the errors of one commit to a table to floe's errors. After an unknown outcome, load the table and check."""
        return self.errors(f"commit to table {name!r}", committing=True)

    def reading(self, name: str) -> AbstractContextManager[None]:
        """Map the errors of reading a table's rows to floe's errors."""
        return self.errors(f"read table {name!r}", of_table=True)

    def changing(self, name: str) -> AbstractContextManager[None]:
        """Map the errors of changing a table to floe's errors. Conflicts are not mapped."""
        return self.errors(f"change table {name!r}", of_table=True)

    def _create_namespaces(self, name: str) -> str:
        """Create the namespaces of a table; return why the catalog refused to, if it did: creating the table decides.

        Raises TableUnsuitable for a namespace in another one, in a catalog whose namespaces are of one level.
        """
        parts, refusal = name.split(".")[:-1], ""
        for depth in range(1, len(parts) + 1):
            try:
                self.catalog.create_namespace(".".join(parts[:depth]))
            except NamespaceAlreadyExistsError:
                continue
            except (ForbiddenError, NotImplementedError) as error:
                refusal = first_line(error)
            except BadRequestError as error:
                refusal = first_line(error)
                if depth > 1:
                    msg = (
                        f"table {name!r} cannot be created: the catalog has no namespace {'.'.join(parts[:depth])!r} and "
                        f"refuses to create it ({refusal}). Its namespaces may be of one level, as those of Unity and S3 "
                        "Tables are. No table was created. Name a table of two parts, such as "
                        f"{parts[0]}.{name.rpartition('.')[2]}"
                    )
                    raise TableUnsuitable(hide(msg), code="FLOE-422") from cause_of(error)
        return refusal


def open_catalog(connector: Connector) -> Catalog:
    """Open a connector's catalog by the provider of its type.

    Raises PyIceberg's errors, and CatalogMisconfigured for a catalog whose answer is refused.
    """
    return open_with_provider(connector.catalog)


def _errors_of(spec: CatalogSpec) -> CatalogErrors:
    def address() -> str:
        return shown_address(str(catalog_settings(spec).get("uri", "")))

    if spec.type not in TYPES:
        return CatalogErrors(spec.name, address)
    provider = provider_named(spec.type)
    return CatalogErrors(spec.name, address, provider.classify, partial(provider.misconfiguration, spec))


def _learn_credentials(table: Table) -> None:
    """Learn what a REST catalog returned with a table. Ledgers, which each table has others of, contain none."""
    learn(without_ledgers(table.io.properties))


def _learn_secrets(connector: Connector) -> None:
    learn(catalog_settings(connector.catalog))
    learn(connector.properties)
    learn_environment(os.environ)


def _is_of_metadata(error: ValidationError | InvalidFields) -> bool:
    """Say whether the answer contains table metadata that is not understood, rather than no valid answer at all."""
    if isinstance(error, ValidationError):
        return True
    return all(one["type"] != "json_invalid" and one["loc"] not in ((), ("metadata",)) for one in error.errors())


def _summary_of(error: ValidationError | InvalidFields) -> str:
    if isinstance(error, ValidationError):
        return first_line(error)
    first = error.errors()[0]
    return clip(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", 300)
