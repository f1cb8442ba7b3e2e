"""Hiding secrets in texts by their value, in every spelling that libraries give them.

Messages of libraries quote what they were given: a header, an address, a property. So all secrets that a process gets to
know are learned here, and every text is put through ``hide`` where it leaves floe: its logs, the lines relayed from Spark,
the errors raised to Airflow, and what pages and APIs answer.
"""

import base64
import html
import json
import re
import threading
from collections.abc import Iterable, Mapping
from urllib.parse import quote, quote_plus

from floe.config.secrets import HIDDEN, environment_settings, secret_texts

SHORTEST = 6
"""Characters of a secret that is hidden by value: a shorter one would be found in ordinary text."""

_SAFE = ("", "/", " +", "!#$%&'()*+,/:;=?@[]~")
"""Characters left alone by those who quote for a URL: urllib for values and for paths, SQLAlchemy, requests."""

LONGEST = 65_536
"""Characters of a secret that is looked for in other spellings, too."""

_NO_SECRETS = ("airflow",)
"""Passwords of everybody's test stacks. Airflow hides none of them either: its logs are full of the word."""

_LOGIN = re.compile(r"(://[^\s/:@<>]{0,100}:)[^\s@<>/]{1,500}@")
_TOKEN = re.compile(
    r"(\b(?:[Bb]earer|[Bb]asic)\s+(?:b?['\"])?)(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{8,}"
    r"|()\beyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]+)?"
)
"""Tokens as headers carry them: a word behind the scheme that has a digit in it or is long; and web tokens."""

_MOST_NESTED = 32
"""Levels of a setting that is an object: the extra of a connection."""


class Mask:
    """The secrets that are known, and how to hide them. It may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str]] = set()
        self._too_short: set[str] = set()
        self._spelled: tuple[str, ...] = ()
        self._encoded: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> "Mask":
        """Build a mask of the secrets among some settings."""
        mask = cls()
        mask.learn(settings)
        return mask

    def learn(self, settings: Mapping[str, object]) -> frozenset[str]:
        """Learn the secrets among settings; return the texts that are hidden from now on and were not before."""
        with self._lock:
            fresh = [pair for pair in _flat(settings) if pair not in self._seen]
            self._seen.update(fresh)
            texts: set[str] = set()
            for key, value in fresh:
                mine = secret_texts(key, value)
                texts |= {text for text in mine if len(text) >= SHORTEST and text.lower() not in _NO_SECRETS}
                if mine and max(map(len, mine)) < SHORTEST:
                    self._too_short.add(key)
            return self._add(texts)

    @property
    def too_short(self) -> frozenset[str]:
        """The keys of secrets that are too short to be hidden by value."""
        with self._lock:
            return frozenset(self._too_short)

    def hide(self, text: str) -> str:
        """Return ``text`` with every known secret hidden, whatever its spelling, and with unknown ones of known shapes."""
        for spelled in self._spelled:
            if spelled in text:
                text = text.replace(spelled, HIDDEN)
        for encoded in self._encoded:
            if encoded in text:
                text = re.sub(rf"[\w+/-]*{re.escape(encoded)}[\w+/-]*=*", HIDDEN, text)
        return _without_shapes(text)

    def _add(self, texts: Iterable[str]) -> frozenset[str]:
        spelled = {spelled for text in texts for spelled in spellings(text)} - set(self._spelled)
        encoded = {code for text in texts if len(text) <= LONGEST for code in _base64(text)} - set(self._encoded)
        self._spelled = tuple(sorted({*self._spelled, *spelled}, key=len, reverse=True))
        self._encoded = tuple(sorted({*self._encoded, *encoded}))
        return frozenset(spelled | encoded)


_KNOWN = Mask()


def learn(settings: Mapping[str, object]) -> frozenset[str]:
    """Learn the secrets among settings, for this process; return the texts that are hidden from now on."""
    return _KNOWN.learn(settings)


def learn_environment(environ: Mapping[str, str]) -> frozenset[str]:
    """Learn the secrets in the environment, for this process; return the texts that are hidden from now on."""
    return learn({key: value for key, value in environment_settings(environ).items() if not _names_file(key)})


def hide(text: str) -> str:
    """Return ``text`` with every secret hidden that this process knows: fit for logs, errors, pages and APIs."""
    return _KNOWN.hide(text)


def too_short() -> frozenset[str]:
    """Return the keys of secrets that this process knows and cannot hide: they have fewer than ``SHORTEST`` characters."""
    return _KNOWN.too_short


def spellings(secret: str) -> frozenset[str]:
    """Return a secret as messages spell it: raw, by ``repr``, in JSON, in a URL, in HTML."""
    if len(secret) > LONGEST:
        return frozenset((secret,))
    octets = secret.encode(errors="surrogatepass")
    once = {*_escaped(secret), html.escape(secret)}
    plain = {secret, *once, *(twice for text in once for twice in _escaped(text))}
    quoted = {quote(octets, safe) for safe in _SAFE} | {quote_plus(octets)}
    quoted |= {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in quoted}
    return frozenset(text for text in plain | quoted if len(text) >= SHORTEST)


def _without_shapes(text: str) -> str:
    """Hide what can be nothing but a secret: a header's token, a web token, the password of an address.

    Nobody was told of these: a token that a catalog gave out, an address that a server answers with.
    """
    if "://" in text:
        text = _LOGIN.sub(rf"\1{HIDDEN}@", text)
    return _TOKEN.sub(lambda found: f"{found[1] or ''}{HIDDEN}", text)


def _escaped(text: str) -> set[str]:
    """Return a text as it stands between the quotes of Python and of JSON."""
    by_json = {json.dumps(text, ensure_ascii=ascii)[1:-1] for ascii in (True, False)}
    by_python = {repr(text)[1:-1], repr(text.encode(errors="surrogatepass"))[2:-1]}
    return by_json | by_python | {text.replace(mark, f"\\{mark}") for mark in "'\""}


def _base64(secret: str) -> set[str]:
    """Return what base64 of any text has in it that contains the secret: ``user:password``, whoever the user is."""
    octets = secret.encode(errors="surrogatepass")
    found = set()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + octets).decode()
        found.add(encoded[-(-before * 4 // 3) : (before + len(octets)) * 4 // 3])
    return found | {text.translate(str.maketrans("+/", "-_")) for text in found}


def _names_file(key: str) -> bool:
    """Whether a variable is about secrets and holds none: where a file is, which class reads them."""
    return bool(re.search(r"[-.](file|path|dir|folder|home|backend|class|cmd)$", key))


def _flat(settings: Mapping[str, object], depth: int = 0) -> list[tuple[str, str]]:
    """Return settings as pairs of text, what is nested or JSON by its inner keys too."""
    pairs: list[tuple[str, str]] = []
    for key, value in settings.items():
        nested = _object(value) if depth < _MOST_NESTED else None
        if nested is not None:
            pairs += _flat(nested, depth + 1)
            # the inner keys need not look like those of secrets
            pairs += [(f"{key}.{inner}", str(text)) for inner, text in nested.items() if not _object(text)]
        elif value is not None:
            pairs.append((str(key), str(value)))
    return pairs


def _object(value: object) -> Mapping[str, object] | None:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list | tuple):
        return {str(index): item for index, item in enumerate(value)}
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return None
        return read if isinstance(read, dict) else None
    return None
