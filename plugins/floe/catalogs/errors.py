"""Mapping of the errors of catalogs, and of the stores behind them, to an answer and to floe's errors."""

import errno
import os
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol

from pyiceberg.exceptions import (
    AuthorizationExpiredError,
    BadRequestError,
    CommitFailedException,
    ForbiddenError,
    UnauthorizedError,
    ValidationError,
)

from floe.catalogs.exceptions import (
    CatalogError,
    CatalogFailed,
    CatalogLoginRefused,
    CatalogMisconfigured,
    CatalogUnreachable,
    CommitAltered,
    TableRefused,
    TableUnsuitable,
)
from floe.config.secrets.mask import clip, hide

_SHOWN_CHARACTERS = 300
_NOT_VALID = (ValidationError, BadRequestError, NotImplementedError)
_OF_LOGIN = (UnauthorizedError, AuthorizationExpiredError)

_OF_SYSTEM = (
    errno.ECONNREFUSED,
    errno.ECONNRESET,
    errno.EHOSTUNREACH,
    errno.ENETUNREACH,
    errno.ETIMEDOUT,
    errno.ENOSPC,
)
_SYSTEM_TEXTS = (*map(os.strerror, _OF_SYSTEM), "Name or service not known", "Temporary failure in name resolution")
"""What drivers and HTTP clients quote of the system, behind a text of their own."""

_PASSING = (
    *_OF_SYSTEM,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
    errno.EBUSY,
    errno.EPIPE,
    errno.ENETDOWN,
)
_LASTING = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP)
"""Numbers of the system's errors that pass, and that come again until something is changed."""

_STORE_OUTAGES = (
    *("NETWORK_CONNECTION", "SLOW_DOWN", "SERVICE_UNAVAILABLE", "REQUEST_TIMEOUT", "THROTTLING", "INTERNAL_FAILURE"),
    *("curlCode: ", "ServerBusy", "OperationTimedOut", "(UNAVAILABLE", "(DEADLINE_EXCEEDED", "(RESOURCE_EXHAUSTED"),
)
_UNTRUSTED = ("CERTIFICATE_VERIFY_FAILED", "certificate verify failed", "curlCode: 60,", "curlCode: 77,")
"""In the texts of clients that do not trust a server's certificate."""

_STORE_REFUSALS = (
    *_UNTRUSTED,
    *(
        "ACCESS_DENIED",
        "INVALID_ACCESS_KEY_ID",
        "SIGNATURE_DOES_NOT_MATCH",
        "INVALID_CLIENT_TOKEN_ID",
        "NO_SUCH_BUCKET",
    ),
    *("InvalidAccessKeyId", "SignatureDoesNotMatch", "NoSuchBucket", "ExpiredToken", "InvalidToken", "AccessDenied"),
    *("AuthenticationFailed", "AuthorizationFailure", "AuthorizationPermissionMismatch", "ContainerNotFound"),
    *("(PERMISSION_DENIED", "(UNAUTHENTICATED"),
)
"""In the texts of Arrow's errors, which are OSErrors without a number: of S3, Azure, Google and TLS."""

_PERMISSION = (
    *("AccessDenied", "Access Denied", "access denied", "ACCESS_DENIED", "AccessControlException", "Permission denied"),
    *("does not have privileges", "not authorized", "NotAuthorized", "PERMISSION_DENIED", "UNAUTHENTICATED"),
    *("AuthenticationFailed", "AuthorizationFailure", "AuthorizationPermissionMismatch", "MissingAuthenticationToken"),
    *("ExpiredToken", "InvalidToken", "InvalidClientTokenId", "INVALID_CLIENT_TOKEN_ID", "UnrecognizedClient"),
    *("SignatureDoesNotMatch", "SIGNATURE_DOES_NOT_MATCH", "InvalidSignature", "IncompleteSignature"),
    *("InvalidAccessKeyId", "INVALID_ACCESS_KEY_ID", "CredentialsError", "occurred (401)", "occurred (403)"),
)
"""In the texts of refusals that credentials or grants are the reason of."""

_AWS_LOGIN: Final = (
    *("occurred (401)", "occurred (403)", "(UnrecognizedClientException)", "(InvalidClientTokenId)", "(ExpiredToken"),
    *("(SignatureDoesNotMatch)", "(InvalidSignatureException)", "(InvalidAccessKeyId)", "(MissingAuthenticationToken"),
)
"""In the texts of botocore: whoever asks is not known there, whichever table is asked for."""

_READ_TIMEOUT = re.compile(r"Read timed out\. \(read timeout=([\d.]+)\)")


class Answer(Enum):
    """What an error means for the caller."""

    CONFLICT = "conflict"
    """Another commit was first; nothing was changed. Load again and decide again."""
    REFUSED = "refused"
    """Nothing was changed, and trying again does not help."""
    UNREACHABLE = "unreachable"
    """Nothing was changed; trying again may help."""
    UNKNOWN = "unknown"
    """No row knows the error. A commit that was sent may be in the table: load it and check. Else it may pass, or not."""


class Classify(Protocol):
    """Decide what an error of a catalog means. ``was_sent``: a commit was under way."""

    def __call__(self, error: Exception, *, was_sent: bool) -> Answer: ...


Rows = Mapping[str, Answer | tuple[Answer, Answer]]
"""What errors mean, by the dotted names of their classes, whose packages may not be installed.

A pair where it depends: first for what was asked, then for a commit that was sent.
"""

_FAILS: Final = (Answer.UNREACHABLE, Answer.UNKNOWN)
_GONE: Final = (Answer.REFUSED, Answer.UNKNOWN)
_PYICEBERG: Final = "pyiceberg.exceptions."
_REQUESTS: Final = "requests.exceptions."

_UNSENDABLE: Final = ("InvalidURL", "InvalidProxyURL", "InvalidSchema", "MissingSchema", "InvalidHeader")

_ROWS: Final[Rows] = {
    f"{_PYICEBERG}CommitFailedException": Answer.CONFLICT,
    f"{_PYICEBERG}UnauthorizedError": Answer.REFUSED,
    f"{_PYICEBERG}ForbiddenError": Answer.REFUSED,
    f"{_PYICEBERG}ValidationError": Answer.REFUSED,
    "floe.catalogs.exceptions.TableRefused": Answer.REFUSED,
    "floe.catalogs.exceptions.TableUnsuitable": Answer.REFUSED,
    # a commit is tried again from the table's present state, which shows whether it is gone
    f"{_PYICEBERG}NoSuchTableError": _GONE,
    f"{_PYICEBERG}NoSuchNamespaceError": _GONE,
    f"{_PYICEBERG}NoSuchPropertyException": _GONE,
    f"{_PYICEBERG}TableAlreadyExistsError": _GONE,
    f"{_PYICEBERG}NamespaceAlreadyExistsError": _GONE,
    f"{_PYICEBERG}RESTError": _FAILS,
    f"{_REQUESTS}ConnectionError": _FAILS,
    f"{_REQUESTS}Timeout": _FAILS,
    f"{_REQUESTS}ChunkedEncodingError": _FAILS,
    f"{_REQUESTS}ContentDecodingError": _FAILS,
    f"{_REQUESTS}InvalidURL": _GONE,
    f"{_REQUESTS}InvalidSchema": _GONE,
    f"{_REQUESTS}MissingSchema": _GONE,
    f"{_REQUESTS}InvalidHeader": _GONE,
    "builtins.PermissionError": _GONE,
    "builtins.ConnectionError": _FAILS,
    "builtins.TimeoutError": _FAILS,
    "socket.gaierror": _FAILS,
}


def answer_in(rows: Rows, error: Exception, *, was_sent: bool) -> Answer | None:
    """Return what a table of rows says of an error, by its own class or the nearest one above it; None if nothing."""
    for kind in type(error).__mro__:
        found = rows.get(f"{kind.__module__}.{kind.__qualname__}")
        if found is not None:
            return found if isinstance(found, Answer) else found[was_sent]
    return None


def answer_of(error: Exception, *, was_sent: bool) -> Answer:
    """Return what an error means in any catalog; a catalog that knows more decides first.

    A commit may be in the table unless the answer is a clear refusal.
    """
    if not was_sent and isinstance(error, OSError) and (answer := _answer_of_system(error)) is not None:
        return answer
    found = answer_in(_ROWS, error, was_sent=was_sent)
    if found is not None:
        return found
    return Answer.UNREACHABLE if not was_sent and _said_by_system(error) else Answer.UNKNOWN


def _answer_of_system(error: OSError) -> Answer | None:
    """Return what an error of the system, or of a store, means for what was asked."""
    if error.errno in _LASTING:
        return Answer.REFUSED
    if error.errno in _PASSING:
        return Answer.UNREACHABLE
    text = str(error)
    if any(one in text for one in _STORE_REFUSALS):
        return Answer.REFUSED
    return Answer.UNREACHABLE if any(one in text for one in _STORE_OUTAGES) else None


def _no_misconfiguration(_: Exception) -> None:
    return None


@dataclass(frozen=True)
class CatalogErrors:
    """The errors of one catalog. ``address``: returns it without secrets, empty if none is known.

    ``misconfiguration``: returns what the operator has to correct, if an error shows that.
    """

    name: str
    address: Callable[[], str]
    classify: Classify = answer_of
    misconfiguration: Callable[[Exception], str | None] = _no_misconfiguration

    @contextmanager
    def during(self, action: str, *, committing: bool = False, of_table: bool = False) -> Iterator[None]:
        """Map a catalog's errors during an action to floe's errors. Conflicts and floe's own errors are not mapped.

        ``action`` completes "could not ...", as "load table 'db.t'"; ``committing``: it is sent as one commit;
        ``of_table``: it is about one table, so that a refusal leaves the others as they are. Raises CommitFailedException
        for a conflict, CatalogUnreachable for an error that may pass and for an unknown outcome, CatalogFailed for an error
        that no row knows. For a refusal, raises TableRefused for a commit, TableUnsuitable for a table, and
        CatalogMisconfigured for anything else.
        """
        try:
            yield
        except (CommitFailedException, TableRefused, CommitAltered):
            raise
        except Exception as error:
            # the store behind a catalog is anything: requests, SQLAlchemy, fsspec, Arrow
            if isinstance(error, CatalogError) and not committing:
                raise
            raise self._error(action, error, committing, of_table) from cause_of(error)

    def _error(self, action: str, error: Exception, committing: bool, of_table: bool) -> Exception:
        answer = self.classify(error, was_sent=committing)
        if answer is Answer.CONFLICT:
            return CommitFailedException(hide(_words(error)))
        if not committing and not _is_of_login(error) and (misconfiguration := self.misconfiguration(error)):
            return CatalogMisconfigured(hide(misconfiguration))
        if not committing and (problem := _settings_problem(error)):
            return CatalogMisconfigured(hide(f"could not {action}: {problem}"))
        match answer:
            case Answer.REFUSED:
                msg = hide(_refusal(action, error))
                if committing:
                    return TableRefused(msg, code="FLOE-411" if _is_of_permission(error) else "FLOE-412")
                if isinstance(error, _OF_LOGIN) or any(one in _words(error) for one in _AWS_LOGIN):
                    return CatalogLoginRefused(msg)
                return TableUnsuitable(msg) if of_table and not _is_of_permission(error) else CatalogMisconfigured(msg)
            case Answer.UNKNOWN if committing:
                # the table shows whether the commit was made
                return CatalogUnreachable(
                    hide(f"the outcome of a {action} is unknown ({type(error).__name__}: {_words(error)})")
                )
            case Answer.UNKNOWN:
                msg = (
                    f"could not {action}: {_named(error)}. floe does not know this error of catalog "
                    f"{self.name!r}{self._where()}: it may pass, or come again until its cause is removed. "
                    "Nothing was committed"
                )
                return CatalogFailed(hide(msg))
        msg = (
            f"could not {action}: {_reason(error)}. Check that catalog {self.name!r} is up{self._where()}. Its address comes "
            "from iceberg.catalog.* or PyIceberg's configuration."
        )
        return CatalogUnreachable(hide(msg))

    def _where(self) -> str:
        return f" at {address}" if (address := self.address()) else ""

    def not_opened(self, error: Exception) -> CatalogMisconfigured:
        """Return the error for settings that no catalog can be opened with; raise it from :func:`cause_of`."""
        msg = (
            f"catalog {self.name!r} cannot be opened: {first_line(error)}. Check iceberg.catalog.* in the connector and "
            f"PYICEBERG_CATALOG__{self.name.upper()}__* in the environment."
        )
        return CatalogMisconfigured(hide(msg))


def _refusal(action: str, error: Exception) -> str:
    if isinstance(error, ValidationError):
        return (
            f"the metadata that a {action} makes is not valid ({clip(str(error), _SHOWN_CHARACTERS)}): another process "
            "changed the table. Nothing was committed to it. Undo the last change of the table, or roll it back to the "
            "snapshot before"
        )
    if _is_not_writable(error):
        return f"could not {action}: {error}. The warehouse must be writable for Airflow's and Spark's workers."
    if isinstance(error, CatalogError):
        return f"could not {action}: {first_line(error)}"
    if _is_of_permission(error):
        return f"not allowed to {action}: {_named(error)}. Check the catalog's credentials and grants."
    return (
        f"the catalog refuses to {action}: {_named(error)}. Nothing was changed. Correct the name, the column or the "
        "property that it refuses"
    )


def _settings_problem(error: Exception) -> str | None:
    """Return what to set where a client would not send, whatever was asked; None for other errors."""
    if not isinstance(error, OSError):
        return None
    if any(one in str(error) for one in _UNTRUSTED):
        return (
            f"the server's certificate is not trusted here ({_named(error)}). Nothing was changed. Give Airflow's and "
            "Spark's workers the certificate of who signed it: in REQUESTS_CA_BUNDLE for a REST catalog, AWS_CA_BUNDLE for "
            "Glue, SSL_CERT_FILE for a store"
        )
    if f"{type(error).__module__}." == _REQUESTS and type(error).__name__ in _UNSENDABLE:
        return f"{_named(error)}. Nothing was sent. Correct the address, the proxy or the header in iceberg.catalog.*"
    return None


def _is_not_writable(error: Exception) -> bool:
    return isinstance(error, PermissionError) or (
        isinstance(error, OSError) and error.errno in (errno.EROFS, errno.ENOTDIR)
    )


def _is_of_login(error: Exception) -> bool:
    return isinstance(error, UnauthorizedError | ForbiddenError | AuthorizationExpiredError)


def _is_of_permission(error: Exception) -> bool:
    """Say whether credentials or grants are the reason of a refusal."""
    if _is_of_login(error) or _is_not_writable(error):
        return True
    text = f"{type(error).__name__} {_words(error)}"
    return not isinstance(error, _NOT_VALID) and any(one in text for one in _PERMISSION)


def _words(error: BaseException) -> str:
    """Return what an error says: those of Thrift show all their fields in the place of a text."""
    return str(getattr(error, "message", None) or error)


def _named(error: Exception) -> str:
    """Return an error's class and the first line of its words, without secrets."""
    return f"{type(error).__name__}: {first_line(error)}".removesuffix(".")


def _said_by_system(error: BaseException) -> str | None:
    """Return the system's message where it is at the end of the chain, or quoted; None if it says nothing."""
    end, seen = error, {id(error)}
    while (inner := end.__cause__ or end.__context__) is not None and id(inner) not in seen:
        seen.add(id(inner))
        end = inner
    if isinstance(end, OSError) and end.strerror:
        return end.strerror
    text = str(error)
    if late := _READ_TIMEOUT.search(text):
        return f"no answer within {float(late[1]):g} s (timed out)"
    return next((said for said in _SYSTEM_TEXTS if said in text), None)


def _reason(error: Exception) -> str:
    """Return why a call failed: the system's message if there is one, else the error itself."""
    return _said_by_system(error) or _named(error)


def cause_of(error: Exception) -> Exception | None:
    """Return the cause of floe's error; None if it, or the chain behind it, quotes a secret."""
    message = "".join(traceback.format_exception(error))
    return error if hide(message) == message else None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without secrets."""
    return next(iter(hide(_words(error)).splitlines()), "")[:_SHOWN_CHARACTERS]
