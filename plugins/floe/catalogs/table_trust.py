"""Checks of table properties and of a catalog's answers: they must not name code or a destination of credentials.

PyIceberg makes a table's FileIO from the catalog's properties, overridden by the table's own and the catalog's answer. So
a user who alters a table could send the credentials of all tables to another address.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from floe.catalogs.code_guard import AUTH, check_class, check_properties
from floe.catalogs.exceptions import CatalogMisconfigured, CodeRefused, TableUnsuitable
from floe.config.sections.table_properties import is_of_store

_ADDRESS: Final = re.compile(r"(gcs|adls|hf)\..*(host|endpoint|authority|scheme|proxy).*")
_LOGIN: Final = re.compile(r"(gcs|adls|hf)\..*(token|account-key|sas|credential|secret|connection-string).*")
_LOCAL: Final = re.compile(
    r"auth|ssl|.*profile-name|hdfs\.kerberos_ticket|gcs\.session-kwargs|s3\.proxy-uri|py-catalog-impl"
)
"""Settings of this process: its login, the certificates it trusts, its proxies, the local files that it reads."""


def check_table_properties(table: str, properties: Mapping[str, str]) -> None:
    """Refuse a table whose own properties name code, or settings of the store that contains its files.

    Raises CodeRefused, TableUnsuitable.
    """
    _named(table, properties)
    taken = sorted(key for key in properties if is_of_store(key))
    if taken:
        msg = (
            f"table {table!r} has the properties {', '.join(taken)[:300]}: a table may not say how its storage is reached "
            "or logged in to, as that could send the catalog's credentials where it says. Unset them; they go into "
            "iceberg.catalog.* or PyIceberg's environment"
        )
        raise TableUnsuitable(msg, code="FLOE-406")


def check_table_answer(table: str, answer: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse a table for which the catalog answers with code, or with an address for credentials that it did not give.

    ``own``: the catalog's properties. Raises CodeRefused, TableUnsuitable.
    """
    _named(table, answer)
    if problem := _answer_problem(answer, own):
        msg = f"the catalog answers for table {table!r} with {problem}"
        raise TableUnsuitable(msg, code="FLOE-406")


def check_catalog_answer(answer: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse a catalog whose ``/v1/config`` names code, another login or another address for this process' credentials.

    ``answer``: the properties that it changed; ``own``: those before. Raises CatalogMisconfigured.
    """
    try:
        check_properties(answer)
        _check_auth(answer)
    except CodeRefused as error:
        msg = f"the catalog's /v1/config is refused: {error}"
        raise CatalogMisconfigured(msg, code="FLOE-406") from None
    problem = _answer_problem(answer, own)
    if problem is None and "oauth2-server-uri" in answer and own.get("credential"):
        problem = "another oauth2-server-uri: the credential would be sent there"
    if problem:
        msg = f"the catalog's /v1/config answers with {problem}"
        raise CatalogMisconfigured(msg, code="FLOE-406")


def _named(table: str, properties: Mapping[str, Any]) -> None:
    try:
        check_properties(properties)
        _check_auth(properties)
    except CodeRefused as error:
        msg = f"table {table!r} is refused: {error}"
        raise CodeRefused(msg) from None


def _check_auth(properties: Mapping[str, Any]) -> None:
    auth = properties.get(AUTH)
    if isinstance(auth, Mapping):
        for part in ("type", "impl"):
            if auth.get(part):
                check_class(AUTH, str(auth[part]))


def _answer_problem(answer: Mapping[str, Any], own: Mapping[str, Any]) -> str | None:
    changed = {key for key, value in answer.items() if own.get(key) != value}
    local = sorted(key for key in changed if _LOCAL.fullmatch(key))
    if local:
        return f"{', '.join(local)[:300]}: that is for this process' own configuration to say"
    for store in ("gcs", "adls", "hf"):
        address = sorted(key for key in changed if key.startswith(f"{store}.") and _ADDRESS.fullmatch(key))
        given, ours = (
            {key for key in properties if key.startswith(f"{store}.") and _LOGIN.fullmatch(key)}
            for properties in (answer, own)
        )
        if address and (not given or ours - given):
            return (
                f"{', '.join(address)[:300]} and no credentials for it in the place of ours, which "
                "would be sent there. Set the address in iceberg.catalog.* or PyIceberg's environment"
            )
    return None
