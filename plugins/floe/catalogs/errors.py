"""Mapping of the errors of catalogs, and of the stores behind them, to an answer and to floe's errors."""

import errno
import os
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

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
    CatalogMisconfigured,
    CatalogUnreachable,
    CommitAltered,
    LoginRefused,
    TableRefused,
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
    """A commit was sent and may be in the table. Load the table and check."""


class Classify(Protocol):
    """Decide what an error of a catalog means. ``was_sent``: a commit was under way."""

    def __call__(self, error: Exception, *, was_sent: bool) -> Answer: ...


def answer_of(error: Exception, *, was_sent: bool) -> Answer:
    """Return what an error means in any catalog; a catalog that knows more decides first.

    A commit may be in the table unless the answer is a clear refusal.
    """
    if isinstance(error, CommitFailedException):
        return Answer.CONFLICT
    if isinstance(error, UnauthorizedError | ForbiddenError | TableRefused):
        return Answer.REFUSED
    if was_sent:
        return Answer.REFUSED if isinstance(error, ValidationError) else Answer.UNKNOWN
    return Answer.REFUSED if isinstance(error, PermissionError) else Answer.UNREACHABLE


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
    def during(self, action: str, *, committing: bool = False) -> Iterator[None]:
        """Map a catalog's errors during an action to floe's errors. Conflicts and floe's own errors are not mapped.

        ``action`` completes "could not ...", as "load table 'db.t'"; ``committing``: it is sent as one commit. Raises
        CommitFailedException for a conflict, CatalogUnreachable for an error that may pass and for an unknown outcome.
        For a refusal, raises TableRefused for a commit and CatalogMisconfigured for anything else.
        """
        try:
            yield
        except (CommitFailedException, TableRefused, CommitAltered):
            raise
        except Exception as error:
            # the store behind a catalog is anything: requests, SQLAlchemy, fsspec, Arrow
            if isinstance(error, CatalogError) and not committing:
                raise
            raise self._error(action, error, committing) from cause_of(error)

    def _error(self, action: str, error: Exception, committing: bool) -> Exception:
        match self.classify(error, was_sent=committing):
            case Answer.CONFLICT:
                return CommitFailedException(hide(str(error)))
            case Answer.REFUSED:
                msg = hide(_refusal(action, error))
                if committing:
                    return TableRefused(msg, code="FLOE-412" if isinstance(error, _NOT_VALID) else "FLOE-411")
                return LoginRefused(msg) if isinstance(error, _OF_LOGIN) else CatalogMisconfigured(msg)
            case Answer.UNKNOWN:
                # the table shows whether the commit was made
                return CatalogUnreachable(
                    hide(f"the outcome of a {action} is unknown ({type(error).__name__}: {error})")
                )
            case Answer.UNREACHABLE:
                return self._failure(action, error)

    def _failure(self, action: str, error: Exception) -> CatalogError:
        """Return floe's error for a store's, with the reason at the end of its chain."""
        address = self.address()
        if misconfiguration := self.misconfiguration(error):
            return CatalogMisconfigured(hide(misconfiguration))
        where = f" at {address}" if address else ""
        msg = (
            f"could not {action}: {_reason(error)}. Check that catalog {self.name!r} is up{where}. Its address comes from "
            "iceberg.catalog.* or PyIceberg's configuration."
        )
        return CatalogUnreachable(hide(msg))

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
    if isinstance(error, PermissionError):
        return f"could not {action}: {error}. The warehouse must be writable for Airflow's and Spark's workers."
    if isinstance(error, BadRequestError | NotImplementedError):
        return f"the catalog refuses to {action}: {first_line(error)}. Nothing was changed"
    if isinstance(error, CatalogError):
        return f"could not {action}: {first_line(error)}"
    return f"not allowed to {action}: {first_line(error)}. Check the catalog's credentials and grants."


def _reason(error: BaseException) -> str:
    """Return why a call failed: the system's message if it is at the end of the chain, else the error itself."""
    end, seen = error, {id(error)}
    while (inner := end.__cause__ or end.__context__) is not None and id(inner) not in seen:
        seen.add(id(inner))
        end = inner
    if isinstance(end, OSError) and end.strerror:
        return end.strerror
    text = str(error)
    if late := _READ_TIMEOUT.search(text):
        return f"no answer within {float(late[1]):g} s (timed out)"
    said = next((said for said in _SYSTEM_TEXTS if said in text), None)
    return said or f"{type(error).__name__}: {first_line(error)}"


def cause_of(error: Exception) -> Exception | None:
    """Return the cause of floe's error; None if it, or the chain behind it, quotes a secret."""
    message = "".join(traceback.format_exception(error))
    return error if hide(message) == message else None


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, without secrets."""
    return next(iter(hide(str(error)).splitlines()), "")[:_SHOWN_CHARACTERS]
