"""JAAS texts of Kafka's clients, ``sasl.jaas.config``: the login module and its options.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="…";

Read as Kafka's JaasConfig reads them, by Java's StreamTokenizer. No message quotes the text: it has a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_SECURITY: Final = "org.apache.kafka.common.security."
LOGINS: Final = (f"{_SECURITY}plain.PlainLoginModule", f"{_SECURITY}scram.ScramLoginModule")
_FLAGS: Final = ("REQUIRED", "REQUISITE", "SUFFICIENT", "OPTIONAL")
_EXAMPLE: Final = '…PlainLoginModule required username="…" password="…";'
_MAX_CHARACTERS: Final = 65_536
SHOWN_CHARACTERS: Final = 100

_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[\x00-\x20]+ | /\*.*?\*/ | /(?!\*)[^\r\n]*)
    | (?P<word>[A-Za-z_$\xa0-\xff][\w.$\-\xa0-\xff]*)
    | "(?P<double>(?:[^"\\\r\n]|\\[^\r\n])*)"
    | '(?P<single>(?:[^'\\\r\n]|\\[^\r\n])*)'
    | (?P<sign>[=;])
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class JaasUnusable(ValueError):
    """A JAAS text has no user and password, or is none. The message says what to set instead, and quotes no secret."""


@dataclass(frozen=True)
class JaasLogin:
    """A user and a password."""

    user: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True)
class _Token:
    """A word, a text in quotes (``is_text``), or a sign."""

    text: str = field(repr=False)
    is_text: bool = False


@dataclass(frozen=True)
class Entry:
    """A login module, by the name of its class, and its options."""

    module: str
    options: Mapping[str, str] = field(repr=False)

    @property
    def name(self) -> str:
        """The class without its package, for messages: an unknown text may be a password."""
        return self.module[:SHOWN_CHARACTERS]


def read_entry(jaas: str) -> Entry:
    """Read the one login module of a text. Raises JaasUnusable."""
    tokens = _tokens(jaas)
    module = tokens[0].text.strip() if tokens else ""
    if not _is_class(module) or len(tokens) < 2 or tokens[1].text.upper() not in _FLAGS:
        if module in LOGINS:
            raise _malformed()
        msg = f"its text is not read: write {_EXAMPLE}"  # it may be a password
        raise JaasUnusable(msg)
    return Entry(module, _options(tokens[1:]))


def read_login(jaas: str) -> JaasLogin:
    """Read the user and the password of PLAIN or SCRAM. Raises JaasUnusable."""
    entry = read_entry(jaas)
    if entry.module not in LOGINS:
        msg = (
            f"the login module {entry.name!r} is not read: floe reads PlainLoginModule and ScramLoginModule, {_EXAMPLE}"
        )
        raise JaasUnusable(msg)
    return login_of(entry)


def login_of(entry: Entry) -> JaasLogin:
    """Return the user and the password of a PLAIN or SCRAM module. Raises JaasUnusable."""
    options = entry.options
    if options.get("tokenauth", "").lower() == "true":
        msg = "tokenauth is true: delegation tokens are not read; set the user and the password of an account"
        raise JaasUnusable(msg)
    missing = [name for name in ("username", "password") if not options.get(name)]
    if missing:
        msg = f"it has no {' and no '.join(missing)}: write {_EXAMPLE}"
        raise JaasUnusable(msg)
    return JaasLogin(options["username"], options["password"])


def _options(tokens: list[_Token]) -> dict[str, str]:
    """Read what follows the module: its flag, and options up to the semicolon."""
    if not tokens or tokens[0].text.upper() not in _FLAGS:
        raise _malformed()
    at, found = 1, dict[str, str]()
    while at < len(tokens) and tokens[at] != _Token(";"):
        if at + 2 >= len(tokens) or tokens[at + 1] != _Token("=") or _is_sign(tokens[at + 2]):
            raise _malformed()
        found[tokens[at].text] = tokens[at + 2].text
        at += 3
    if at == len(tokens):
        msg = f"it has no semicolon at its end: write {_EXAMPLE}"
        raise JaasUnusable(msg)
    if at != len(tokens) - 1:
        raise _malformed()
    return found


def _tokens(jaas: str) -> list[_Token]:
    if len(jaas) > _MAX_CHARACTERS:
        raise _malformed()
    found: list[_Token] = []
    at = 0
    while at < len(jaas):
        match = _TOKEN.match(jaas, at)
        if match is None:
            raise _malformed()
        at = match.end()
        kind, text = match.lastgroup, match[match.lastgroup or 0]
        if kind in ("double", "single"):
            found.append(_Token(_ESCAPE.sub(lambda one: _character(one[1]), text), is_text=True))
        elif kind != "blank":
            found.append(_Token(text))
    return found


def _character(escape: str) -> str:
    return chr(int(escape, 8)) if escape[0] in "01234567" else _ESCAPES.get(escape, escape)


def _is_sign(token: _Token) -> bool:
    return not token.is_text and token.text in "=;"


def _is_class(text: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z_][\w$]*(\.[A-Za-z_][\w$]*)+", text))


def _malformed() -> JaasUnusable:
    return JaasUnusable(f"it is no JAAS text with one login module: write {_EXAMPLE}, with a password in quotes")
