"""PyIceberg's REST catalog with floe's login and transport; its answers are checked before they are used."""

from __future__ import annotations

import logging
from typing import Any, Final

from pyiceberg.catalog.rest import RestCatalog, TableResponse
from pyiceberg.catalog.rest.auth import AuthManager, AuthManagerFactory
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.table import CommitTableResponse, StagedTable, Table
from pyiceberg.table.update import TableRequirement, TableUpdate
from pyiceberg.typedef import EMPTY_DICT, Identifier, Properties
from pyiceberg.utils.properties import get_header_properties
from requests import Session

from floe.catalogs.providers.rest.login import (
    TABLE_TOKEN,
    CatalogAuth,
    CatalogLogin,
    ClientLogin,
    SignatureAdapter,
    is_signed,
    manager_of,
    sendable,
)
from floe.catalogs.providers.rest.transport import AnswerRefused, CatalogSession, TransportLimits
from floe.catalogs.table_trust import check_catalog_answer, check_signer, check_table_answer, check_table_properties
from floe.config.catalogs.rest import AUTH_TYPE
from floe.config.secrets.mask import learn

log = logging.getLogger(__name__)

_LOADING_MODE: Final = "snapshot-loading-mode"
_OF_LOGIN: Final = ("token", "credential", "auth", "oauth2-server-uri", "scope", "audience", "resource", "ssl")
_OF_CLIENT: Final = ("rest.", "header.", "auth.", "token-", "gcp.auth.")


class CheckedRestCatalog(RestCatalog):
    """The REST catalog that floe opens instead of PyIceberg's."""

    _login: CatalogLogin | None = None

    def _create_session(self) -> Session:
        settings = self.properties
        session = CatalogSession(TransportLimits.of(settings))
        self._config_headers(session)
        _set_certificates(session, settings.get("ssl"))
        self._auth_manager = self._manager(session)
        session.auth = CatalogAuth(self._auth_manager)
        if is_signed(settings):
            session.mount(self.uri, SignatureAdapter(settings))
        return session

    def _manager(self, session: Session) -> AuthManager:
        """Return the login; the same as for ``/v1/config`` unless that changed something about it."""
        settings = self.properties
        if auth := settings.get("auth"):
            if settings.get(AUTH_TYPE):
                msg = f"auth in .pyiceberg.yaml and {AUTH_TYPE} are both set: remove one"
                raise ValueError(msg)
            if not isinstance(auth, dict) or not auth.get("type"):
                msg = "auth in .pyiceberg.yaml needs a type"
                raise ValueError(msg)
            return AuthManagerFactory.create(auth.get("impl") or auth["type"], auth.get(auth["type"], {}))
        login = CatalogLogin.of(settings, self.uri)
        if self._auth_manager is None or login != self._login:
            self._auth_manager = manager_of(login, TransportLimits.of(settings), get_header_properties(settings))
            self._login = login
        return self._auth_manager

    def _refresh_token(self) -> None:
        if isinstance(self._auth_manager, ClientLogin):
            self._auth_manager.renew()

    def _fetch_config(self) -> None:
        own = dict(self.properties)
        try:
            super()._fetch_config()
        except (AttributeError, TypeError) as error:
            msg = f"the catalog's /v1/config answers with null or another type in the place of an object ({error})"
            raise AnswerRefused(msg) from error
        changed = {key: value for key, value in self.properties.items() if own.get(key) != value}
        learn(changed)
        check_catalog_answer(changed, own)
        if _LOADING_MODE in changed:
            log.info("the catalog asks for %s %r: floe loads all snapshots", _LOADING_MODE, changed[_LOADING_MODE])
            self.properties.pop(_LOADING_MODE)

    def _load_file_io(self, properties: Properties = EMPTY_DICT, location: str | None = None) -> FileIO:
        """Load a table's FileIO, which goes to Spark's workers: the catalog's login is not for them."""
        merged = {**self.properties, **properties}
        kept = {key: value for key, value in merged.items() if key not in _OF_LOGIN and not key.startswith(_OF_CLIENT)}
        return load_file_io(kept, location)

    def commit_table(
        self, table: Table, requirements: tuple[TableRequirement, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        """Commit as PyIceberg does, with the token that the catalog gave for this table, if it gave one."""
        answer: CommitTableResponse
        given = table.config.get("token")
        if not given:
            answer = super().commit_table(table, requirements, updates)
            return answer
        learn({"token": str(given)})
        rest = {key: value for key, value in table.config.items() if key != "token"}
        plain = Table(table.name(), table.metadata, table.metadata_location, table.io, self, rest)
        token = TABLE_TOKEN.set(sendable(str(given), f"catalog's token for table {'.'.join(table.name())!r}"))
        try:
            answer = super().commit_table(plain, requirements, updates)
        finally:
            TABLE_TOKEN.reset(token)
        return answer

    def _response_to_table(self, identifier_tuple: Identifier, table_response: TableResponse) -> Table:
        self._check(identifier_tuple, table_response)
        return super()._response_to_table(identifier_tuple, table_response)

    def _response_to_staged_table(self, identifier_tuple: Identifier, table_response: TableResponse) -> StagedTable:
        self._check(identifier_tuple, table_response)
        return super()._response_to_staged_table(identifier_tuple, table_response)

    def _check(self, identifier: Identifier, response: TableResponse) -> None:
        name = ".".join(identifier)
        check_table_properties(name, response.metadata.properties)
        check_table_answer(name, response.config, self.properties)
        for credential in response.storage_credentials:
            # as the client merges them: a blank in the one would undo a login in the other
            check_table_answer(name, {**response.config, **credential.config}, self.properties)
        found: dict[str, Any] = dict(response.config)
        for credential in response.storage_credentials:
            found |= credential.config
        learn(found)
        check_signer(name, found, self.properties)


def _set_certificates(session: Session, ssl: Any) -> None:
    """Set the certificates that ``ssl`` of .pyiceberg.yaml names, as PyIceberg does."""
    if not isinstance(ssl, dict):
        return
    if bundle := ssl.get("cabundle"):
        session.verify = bundle
    client = ssl.get("client") or {}
    if certificate := client.get("cert"):
        session.cert = (certificate, client["key"]) if client.get("key") else certificate
