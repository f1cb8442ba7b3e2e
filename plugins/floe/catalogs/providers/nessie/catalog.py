"""PyIceberg's REST catalog as Nessie needs it."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import quote, unquote

from pyiceberg.catalog.rest import Endpoints
from pyiceberg.exceptions import (
    BadRequestError,
    CommitFailedException,
    CommitStateUnknownException,
    ForbiddenError,
    RESTError,
    UnauthorizedError,
)
from pyiceberg.table import CommitTableRequest, CommitTableResponse, Table, TableIdentifier
from pyiceberg.table.update import AddSchemaUpdate, TableRequirement, TableUpdate
from requests import Response

from floe.catalogs.exceptions import CatalogMisconfigured, TableRefused
from floe.catalogs.providers.rest.catalog import CheckedRestCatalog

COMMIT_ID: Final = "nessie.commit.id"
"""Property that Nessie shows of a loaded table: the hash that it was loaded at."""
IS_NESSIE: Final = "nessie.is-nessie-catalog"
_BY_STATUS: Final[dict[int, type[Exception]]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    409: CommitFailedException,
}
"""Errors by which nothing was changed; all others leave the outcome of a commit unknown."""
_SEPARATOR: Final = "\x1f"
_SHOWN_CHARACTERS: Final = 500


class NessieCatalog(CheckedRestCatalog):
    """The REST catalog of a Nessie server: each commit names the hash that its table was loaded at."""

    def _fetch_config(self) -> None:
        address = self.uri
        try:
            super()._fetch_config()
        except RESTError as error:
            if type(error) is not RESTError:  # PyIceberg has no class of its own for 404
                raise
            raise self._not_there(address) from error
        if str(self.properties.get(IS_NESSIE)).lower() != "true":
            raise self._not_there(address)

    def _not_there(self, address: str) -> CatalogMisconfigured:
        msg = (
            f"catalog {self.name!r}: there is no Iceberg REST endpoint of Nessie at {address!r}. Nothing was read or "
            "written. Nessie has it once nessie.catalog.warehouses.<name>.location and nessie.catalog.default-warehouse "
            "are set there. For another REST catalog set iceberg.catalog.type to rest"
        )
        return CatalogMisconfigured(msg, code="FLOE-441")

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Send one commit for the version of the table that was loaded, once.

        Raises CommitFailedException if the table was changed since, TableRefused if it does not name its version.
        """
        name = table.name()
        identifier = TableIdentifier.model_validate({"namespace": name[:-1], "name": name[-1]})
        request = CommitTableRequest(identifier=identifier, requirements=requirements, updates=updates)
        body = json.loads(request.model_dump_json())
        for given, sent in zip(updates, body["updates"], strict=True):
            if isinstance(given, AddSchemaUpdate):
                # Nessie requires it still; Iceberg's specification has removed it
                sent["last-column-id"] = max(table.metadata.last_column_id, given.schema_.highest_field_id)
        path = {"namespace": quote(_SEPARATOR.join(name[:-1]), safe=""), "table": quote(name[-1], safe="")}
        endpoint = Endpoints.update_table.format(**path)
        answer = self._session.post(f"{self._address_at(table)}/{endpoint}", json=body)
        if not answer.ok:
            raise _error_of(answer)
        response: CommitTableResponse = CommitTableResponse.model_validate_json(answer.text)
        return response

    def _address_at(self, table: Table) -> str:
        """Return the address of the branch at the hash that a table was loaded at."""
        version = table.metadata.properties.get(COMMIT_ID)
        if not version:
            msg = (
                f"table {'.'.join(table.name())!r}: Nessie did not say by {COMMIT_ID} which version it is, so another "
                "commit could be lost. Nothing was committed. Use Nessie 0.99, or report this with Nessie's version"
            )
            raise TableRefused(msg, code="FLOE-442")
        return f"{self.uri.rstrip('/')}/v1/{prefix_at(str(self.properties.get('prefix', '')), version)}"


def _error_of(answer: Response) -> Exception:
    try:
        message = str(answer.json()["error"]["message"])
    except (ValueError, LookupError, TypeError):
        message = answer.text
    kind = _BY_STATUS.get(answer.status_code, CommitStateUnknownException)
    return kind(f"{answer.status_code}: {message[:_SHOWN_CHARACTERS]}")


def prefix_at(prefix: str, version: str) -> str:
    """Return the prefix of a branch, ``ref`` or ``ref|warehouse``, at a hash."""
    ref, bar, warehouse = unquote(prefix).partition("|")
    return quote(f"{ref.partition('@')[0]}@{version}{bar}{warehouse}", safe="")
