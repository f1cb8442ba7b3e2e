"""What errors of databases mean, by their SQLSTATE. Of PostgreSQL and MySQL; SQLite has no such codes.

A connection that the server refuses has no code in PostgreSQL's library, so its text is read. A text in another language
than English is taken for an error that may pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pyiceberg.exceptions import ForbiddenError, UnauthorizedError

from floe.catalogs.errors import Answer, Rows, answer_in

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
    1146: "42P01",
    1213: "40001",
    1290: "25006",
    1792: "25006",
    1836: "25006",
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


_REFUSED_CLASSES: Final = ("0A", "22", "23", "26", "28", "2F", "3D", "3F", "42", "44", "54")
"""What a statement asks is not supported, not valid, not there, or too large."""
_AWAY_CLASSES: Final = ("08", "53", "57", "58")
"""Connection, resources, an operator's intervention, the system."""

_FAILS: Final = (Answer.UNREACHABLE, Answer.UNKNOWN)
_SQLALCHEMY: Final = "sqlalchemy.exc."
_ROWS: Final[Rows] = {
    f"{_SQLALCHEMY}DataError": Answer.REFUSED,
    f"{_SQLALCHEMY}IntegrityError": Answer.REFUSED,
    f"{_SQLALCHEMY}ProgrammingError": Answer.REFUSED,
    f"{_SQLALCHEMY}NotSupportedError": Answer.REFUSED,
    f"{_SQLALCHEMY}OperationalError": _FAILS,
    f"{_SQLALCHEMY}InterfaceError": _FAILS,
    f"{_SQLALCHEMY}DisconnectionError": _FAILS,
    f"{_SQLALCHEMY}DBAPIError": Answer.UNKNOWN,
    f"{_SQLALCHEMY}StatementError": Answer.REFUSED,  # a value that the driver does not send
    f"{_SQLALCHEMY}TimeoutError": Answer.UNREACHABLE,  # no connection of the pool became free
    f"{_SQLALCHEMY}ArgumentError": Answer.REFUSED,
}
"""Errors of drivers that give no code, SQLite's among them."""
_REFUSALS_OF_SQLITE: Final = ("readonly database", "file is not a database")
_CATALOGS_OWN: Final = ("no such table", "no such column")
_CATALOGS_OWN_STATES: Final = frozenset({"42P01", "42703", "3F000"})
"""The catalog's own tables are not there: that is no table's fault, and they may be restored."""


def is_conflict(error: Exception) -> bool:
    """Say whether the database rolled a transaction back because of another one. Nothing was changed."""
    return _state(error) in _CONFLICTS


def answer_of_database(error: Exception, *, was_sent: bool) -> Answer | None:
    """Return what an error of a database means; None for errors of others."""
    answer = answer_in(_ROWS, error, was_sent=was_sent)
    state = _state(error)
    if state is None:
        if answer is None:
            return None
        if any(one in str(error) for one in _CATALOGS_OWN):
            return Answer.UNKNOWN
        return Answer.REFUSED if any(one in str(error) for one in _REFUSALS_OF_SQLITE) else answer
    if state in _CONFLICTS:
        return Answer.CONFLICT
    if state in _NOT_DONE:
        return Answer.UNREACHABLE
    if state.startswith(_REFUSED_CLASSES) and state not in _CATALOGS_OWN_STATES:
        return Answer.REFUSED
    return _FAILS[was_sent] if state.startswith(_AWAY_CLASSES) else Answer.UNKNOWN


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
