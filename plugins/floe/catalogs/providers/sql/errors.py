"""What errors of databases mean, by their SQLSTATE. Of PostgreSQL and MySQL; SQLite has no such codes.

A connection that the server refuses has no code in PostgreSQL's library, so its text is read. A text in another language
than English is taken for an error that may pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyiceberg.exceptions import ForbiddenError, UnauthorizedError

if TYPE_CHECKING:
    from sqlalchemy.engine import ExceptionContext

_CONFLICTS: Final = frozenset({"40001", "40P01"})
"""The database rolled the transaction back for another one: not serializable, and deadlock."""
_NOT_DONE: Final = frozenset({"08001", "08004", "25006", "53300", "55P03", "57P03"})
"""No connection, a server that is read only for now, too many connections, a lock not granted, server not ready."""
_NOT_PERMITTED: Final = "42501"
_LOGIN: Final = frozenset({"28000", "28P01"})
_NO_DATABASE: Final = "3D000"

_TEXTS: Final = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "is not permitted to log in": "28000",
    "too many clients already": "53300",
    "remaining connection slots are reserved": "53300",
    "too many connections for": "53300",
    "the database system is": "57P03",
    "Connection refused": "08001",
}
_MYSQL: Final = {
    1040: "53300",
    1044: _NOT_PERMITTED,
    1045: "28P01",
    1049: _NO_DATABASE,
    1142: _NOT_PERMITTED,
    1205: "55P03",
    1213: "40001",
    2003: "08001",
}
_TLS: Final = (
    "certificate verify failed",
    "CERTIFICATE_VERIFY_FAILED",
    "root certificate file",
    "server certificate for",
    "does not support SSL",
)
_GRANTS: Final = "GRANT SELECT, INSERT, UPDATE, DELETE ON iceberg_tables, iceberg_namespace_properties TO {user}"
_GRANTS_TO_CREATE: Final = "GRANT USAGE, CREATE ON SCHEMA <schema> TO {user}"


def is_conflict(error: Exception) -> bool:
    """Say whether the database rolled a transaction back because of another one. Nothing was changed."""
    return _state(error) in _CONFLICTS


def is_not_done(error: Exception) -> bool:
    """Say whether a statement was not carried out at all, and may be later."""
    return _state(error) in _NOT_DONE


def missing_database(error: Exception) -> bool:
    """Say whether the server has no such database."""
    return _state(error) == _NO_DATABASE


def tls_problem(error: Exception) -> str | None:
    """Return what a driver says of a server that is not trusted, or that has no TLS; None if it is something else."""
    text = str(getattr(error, "orig", None) or error).strip()
    return text.partition("\n")[0] if any(part in text for part in _TLS) else None


def refusal_of(context: ExceptionContext) -> Exception | None:
    """Return PyIceberg's error for a login or a grant that is missing: SQLAlchemy raises it instead. Else None."""
    state = _state(context.sqlalchemy_exception or context.original_exception)
    said = str(context.original_exception).strip().partition("\n")[0]
    user = (context.engine.url.username if context.engine is not None else None) or "<user>"
    if state == _NOT_PERMITTED:
        grants = _GRANTS_TO_CREATE if "schema" in said else _GRANTS
        return ForbiddenError(f"{said}. Ask for {grants.format(user=_quoted(user))}")
    if state in _LOGIN:
        return UnauthorizedError(f"the database does not accept user {user!r}: {said}")
    return None


def _quoted(user: str) -> str:
    return '"' + user.replace('"', '""') + '"'


def _state(error: Any) -> str | None:
    """Return the SQLSTATE of SQLAlchemy's error, or of the driver's own; None if there is none."""
    of_driver = getattr(error, "orig", None) or error
    arguments = getattr(of_driver, "args", ())
    if arguments and isinstance(arguments[0], int) and arguments[0] in _MYSQL:
        return _MYSQL[arguments[0]]  # MySQL's own SQLSTATE of many errors is 42000
    for name in ("sqlstate", "pgcode"):
        if found := getattr(of_driver, name, None):
            return str(found)
    text = str(of_driver)
    if "FATAL" in text and 'database "' in text and "does not exist" in text:
        return _NO_DATABASE
    return next((state for part, state in _TEXTS.items() if part in text), None)
