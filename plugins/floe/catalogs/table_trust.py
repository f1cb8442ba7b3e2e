"""Checks of table properties and of a catalog's answers: they must not name code or a destination of credentials.

PyIceberg makes a table's FileIO from the catalog's properties, overridden by the table's own and the catalog's answer. So
a user who alters a table could send the credentials of all tables to another address.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from floe.catalogs.code_guard import AUTH, check_class, check_properties
from floe.catalogs.exceptions import CatalogMisconfigured, CodeRefused, TableUnsuitable
from floe.config.catalogs.store_address import setting_problems, warehouses_account
from floe.config.names import has_control_characters
from floe.config.sections.table_properties import is_of_store
from floe.http_answers import seconds_of

_ADDRESS: Final = re.compile(r"(gcs|adls|hf)\..*(host|endpoint|authority|scheme|proxy|account-name).*")
_LOGIN: Final = re.compile(r"(gcs|adls|hf)\..*(token|account-key|sas|credential|secret|connection-string).*")
_OF_BEARERS: Final = re.compile(
    r"gcs\.(oauth2\.token|no-auth)|adls\.(client-.*|tenant-id|sas-token.*|account-key)|hf\.token"
)
"""Logins in whose place a client takes the token of the process' own identity."""

_OF_AZURE: Final = re.compile(r"adls\.(sas-token|account-key)")
_ENTRA: Final = ("adls.client-id", "adls.client-secret", "adls.tenant-id")

_LOCAL: Final = re.compile(
    r"auth|ssl|.*profile-name|hdfs\.(kerberos_ticket|user)|gcs\.session-kwargs|s3\.proxy-uri|py-catalog-impl"
    r"|.*(role-arn|role\.arn|role-session-name)|.*impersonat.*"
)
"""Settings of this process: its login, whom it acts as, the certificates that it trusts, its proxies, its local files."""

_OF_CATALOG: Final = re.compile(
    r"credential|rest\.(auth|client|access-key|secret-access|session-token)[.-].*|gcp\.auth\..*"
)
"""Settings of this process' login and connection to the catalog, which the catalog itself does not change."""
_SECONDS: Final = ("s3.connect-timeout", "s3.request-timeout")
_SIGNERS: Final = ("s3.signer", "s3.signer.uri", "s3.signer.endpoint", "signer.uri", "signer.endpoint")


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
    if problem := _config_problem(answer, own):
        msg = f"the catalog's /v1/config answers with {problem}"
        raise CatalogMisconfigured(msg, code="FLOE-406")


def check_signer(table: str, answer: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse a table whose catalog wants to sign each request to the store, and gives no credentials instead.

    Credentials of one's own count, and so does ``s3.remote-signing-enabled`` false, for those of the environment. Raises
    TableUnsuitable.
    """
    asked = str(answer.get("s3.remote-signing-enabled", "")).strip().lower() == "true"
    if not asked and not any(answer.get(key) for key in _SIGNERS):
        return
    if answer.get("s3.access-key-id") or own.get("s3.access-key-id") or own.get("client.access-key-id"):
        return
    if str(own.get("s3.remote-signing-enabled", "")).strip().lower() == "false":
        return
    msg = (
        f"the catalog wants to sign each request to the store of table {table!r} (remote signing), which floe does not "
        "support. Nothing was read or written. Have the catalog vend credentials, or set "
        "iceberg.catalog.s3.access-key-id and s3.secret-access-key. For credentials of the environment, set "
        "iceberg.catalog.s3.remote-signing-enabled to false"
    )
    raise TableUnsuitable(msg, code="FLOE-421")


def _config_problem(answer: Mapping[str, Any], own: Mapping[str, Any]) -> str | None:
    if problem := _answer_problem(answer, own):
        return problem
    if found := sorted(key for key, value in answer.items() if not isinstance(value, str)):
        return f"{', '.join(found)[:300]}, which is no text"
    if found := sorted(key for key in answer if _OF_CATALOG.fullmatch(key)):
        return f"{', '.join(found)[:300]}: that is for this process' own configuration to say"
    if "oauth2-server-uri" in answer and own.get("credential"):
        return "another oauth2-server-uri: the credential would be sent there"
    if own.get("uri") and "uri" in answer and _host_of(answer["uri"]) != _host_of(str(own["uri"])):
        scheme, host, port = _host_of(answer["uri"])
        return (
            f"another uri, of {scheme}://{host[:200]}:{port}: the login and all commits would be sent there. If it is right, "
            "set iceberg.catalog.uri to it"
        )
    return None


def _host_of(address: str) -> tuple[str, str, int | None]:
    parts = urlsplit(address)
    try:
        port = parts.port
    except ValueError:
        port = -1
    return (
        parts.scheme.lower(),
        (parts.hostname or "").lower(),
        port or {"http": 80, "https": 443}.get(parts.scheme.lower()),
    )


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
    if "adls.client-id" in changed and not all(answer.get(key) for key in _ENTRA):
        local.append("adls.client-id without the rest of its application")
    if local:
        return f"{', '.join(local)[:300]}: that is for this process' own configuration to say"
    if unsendable := sorted(key for key in changed if has_control_characters(str(answer[key]))):
        return f"{', '.join(unsendable)[:300]}, which has a line break or another control character"
    if found := next(setting_problems({key: answer[key] for key in changed}), None):
        return f"{found[0]}: {found[1]}"
    if wrong := sorted(key for key in changed if key in _SECONDS and not seconds_of(answer[key], 0.0)):
        return f"{', '.join(wrong)[:300]}, which is no number of seconds"
    if taken := sorted(key for key in changed if _OF_BEARERS.fullmatch(key) and own.get(key) and _is_off(answer[key])):
        return (
            f"{', '.join(taken)[:300]} without a value, where ours has one: the workers' own login would count instead"
        )
    for store in ("gcs", "adls", "hf"):
        address = sorted(key for key in changed if key.startswith(f"{store}.") and _ADDRESS.fullmatch(key))
        given, ours = (
            {key for key in properties if key.startswith(f"{store}.") and _LOGIN.fullmatch(key) and properties[key]}
            for properties in (answer, own)
        )
        if address and (ours - given or not _is_vended(store, address, answer, {**own, **answer})):
            return (
                f"{', '.join(address)[:300]} and no credentials for it in the place of ours, which "
                "would be sent there. Set the address in iceberg.catalog.* or PyIceberg's environment"
            )
    return None


def _is_vended(store: str, address: Collection[str], answer: Mapping[str, Any], merged: Mapping[str, Any]) -> bool:
    """Whether an answer gives a login with which no client sends the process' own identity to an address of the answer.

    ``merged``: with the properties that it does not change. At Azure a key or a SAS token is of one account, and tables may
    be at another.
    """
    if store == "gcs":
        return bool(answer.get("gcs.oauth2.token")) or str(answer.get("gcs.no-auth", "")).strip().lower() == "true"
    if store == "hf":
        return bool(answer.get("hf.token"))
    if all(answer.get(key) for key in _ENTRA):
        return True
    is_of_all = not merged.get("adls.account-name") and not warehouses_account(merged)
    if any(answer.get(key) for key in ("adls.sas-token", "adls.account-key")) and is_of_all:
        return True
    # another account: a client without a login for it sends its own to Azure alone
    return set(address) <= {"adls.account-name"} and any(value for key, value in answer.items() if _OF_AZURE.match(key))


def _is_off(value: object) -> bool:
    return str(value).strip().lower() in ("", "false")
