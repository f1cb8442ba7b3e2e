"""Reading answers: which faults may pass, what is JSON, and how an answer is quoted in a message."""

from __future__ import annotations

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from floe.config.secrets.mask import clip
from floe.registry.exceptions import NotARegistry, RegistryMisconfigured
from floe.registry.transport import Answer

MAY_PASS: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
"""The statuses after which the same request may succeed."""

_QUOTED_BYTES = 200
_SHOWN_CHARACTERS = 300


class PassingFault(Exception):
    """A fault that may pass. ``retry_after``: the seconds that the server asks to wait, 0 if it does not say."""

    def __init__(self, why: str, retry_after: float = 0.0) -> None:
        super().__init__(why)
        self.retry_after = retry_after


@contextmanager
def mapped_faults(url: str) -> Iterator[None]:
    """Raise PassingFault where there was no answer, and RegistryMisconfigured where TLS can never succeed."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        msg = (
            f"the certificate of {url} is not trusted: {error.verify_message}. Give its certificate authority by the "
            "truststore option (PEM), or correct the address"
        )
        raise RegistryMisconfigured(msg) from None
    except (ssl.SSLEOFError, ssl.SSLSyscallError) as error:  # the server ended during the handshake
        msg = f"{url} closed the connection: {error.reason or error}"
        raise PassingFault(msg) from None
    except ssl.SSLError as error:
        msg = f"TLS with {url} failed: {error.reason or error}. Check the address, and the client's certificate and key"
        raise RegistryMisconfigured(msg) from None
    except TimeoutError as error:
        msg = f"{url} did not answer in time{f': {error}' if error.args else ''}"
        raise PassingFault(msg) from None
    except (http.client.InvalidURL, UnicodeError) as error:
        msg = f"{url} is no address: {error}"
        raise RegistryMisconfigured(msg) from None
    except http.client.BadStatusLine as error:
        if isinstance(error, http.client.RemoteDisconnected):
            msg = f"{url} closed the connection without an answer"
            raise PassingFault(msg) from None
        beginning = excerpt(str(error.args[0]).encode())
        msg = f"{url} does not answer in HTTP, but with {beginning}. Nothing was announced. Check http or https, and the port"
        raise NotARegistry(msg) from None
    except (OSError, http.client.HTTPException) as error:
        msg = f"{url} did not answer: {_reason(error)}"
        raise PassingFault(msg) from None


def passing_fault(answer: Answer, url: str) -> PassingFault | None:
    """Return the fault of an answer that asks to try again."""
    if answer.status not in MAY_PASS:
        return None
    wait = answer.headers.get("retry-after", "").strip()
    seconds = float(wait) if wait.isdecimal() and len(wait) < 6 else 0.0
    return PassingFault(f"{url} answered {answer.status}: {message_of(answer)}", seconds)


def parsed_json(answer: Answer, url: str) -> Any:
    """Return the JSON of an answer. Raises NotARegistry."""
    try:
        return json.loads(answer.body)
    except (ValueError, RecursionError):
        raise not_a_registry(answer, url) from None


def not_a_registry(answer: Answer, url: str) -> NotARegistry:
    """Return the error for an answer that a registry would not give, with the answer's beginning."""
    kind = answer.headers.get("content-type", "no content type")[:_QUOTED_BYTES]
    return NotARegistry(
        f"{url} gave an answer that is not one of a schema registry: status {answer.status}, {clip(kind, 100)}, "
        f"beginning with {excerpt(answer.body)}. Nothing was announced. Check the address"
    )


def excerpt(body: bytes) -> str:
    """Return the beginning of an answer for a message: on one line, without secrets."""
    text = clip(body[: 4 * _QUOTED_BYTES].decode("utf-8", errors="replace"), 4 * _QUOTED_BYTES)
    return repr(text[:_QUOTED_BYTES]) if text else "nothing"


def message_of(answer: Answer) -> str:
    """Return what an error's answer says."""
    try:
        found = json.loads(answer.body)
        message = found.get("message") or found.get("title") or found.get("error_description") or found.get("error")
    except (ValueError, AttributeError, RecursionError):
        message = None
    return clip(message, _SHOWN_CHARACTERS) if isinstance(message, str) and message else excerpt(answer.body)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return clip(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__, _SHOWN_CHARACTERS)
