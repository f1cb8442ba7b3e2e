"""Hiding secrets in texts by their value, in every spelling that libraries give them, and where they were cut.

Messages of libraries quote their input: a header, an address, a property. So all secrets that a process reads are
learned here, and every text passes through ``hide`` when it leaves floe: its logs, the lines relayed from Spark,
the errors raised to Airflow, and the answers of pages and APIs. Texts that are also shortened pass through ``clip``.
"""

import base64
import json
import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

from floe.config.secrets.detection import HIDDEN, JWT, environment_settings, secret_texts, weakest_text
from floe.config.secrets.encodings import readings
from floe.config.secrets.fragments import GRAM, Fragments, Needle

SHORTEST = GRAM
"""Minimum characters of a secret that is hidden by value: a shorter one would occur in ordinary text."""

MAX_LENGTH = 65_536
"""Maximum characters of a secret that is searched for in other spellings, too."""

MAX_TOGETHER = 1_000
"""Different settings as a whole that are remembered as learned."""

_NO_SECRETS = ("airflow", "hidden", HIDDEN)
"""Common passwords of test stacks, and the text that replaces secrets. Airflow does not hide them either: its logs are full
of the word."""

_BLANK = re.compile(r"\s")

_LOGIN = re.compile(r"(://[^\s/:@<>]{0,100}:)[^\s@<>/]{1,500}@")
_TOKEN = re.compile(
    r"(\b(?:[Bb]earer|[Bb]asic)\s+(?:b?['\"])?)(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{8,}"
    rf"|{JWT}"
    r"|(\b(?:access|refresh|id)_token\\?['\"]?\s*[:=]\s*\\?['\"]?)(?=[\w.~+/=-]*\d|[\w.~+/=-]{24})[\w.~+/=-]{8,}"
)
"""Tokens in headers: a word after the scheme that contains a digit or is long; web tokens; tokens that a login answers."""

_OF_CONNECTIONS = ("PYICEBERG_CATALOG__", "AIRFLOW_CONN_")
_MAX_NESTED = 32
"""Levels of a setting that is an object: the extra of a connection."""


class Mask:
    """The secrets that are known, and how to hide them. It may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: set[tuple[str, str]] = set()
        self._seen_together: set[frozenset[tuple[str, object]]] = set()
        self._too_short: set[str] = set()
        self._fragments = Fragments()

    @classmethod
    def of(cls, settings: Mapping[str, object]) -> "Mask":
        """Build a mask of the secrets among some settings."""
        mask = cls()
        mask.learn(settings)
        return mask

    def learn(self, settings: Mapping[str, object]) -> frozenset[str]:
        """Learn the secrets among settings; return the texts that are hidden from now on and were not before."""
        flat = frozenset(settings.items()) if all(isinstance(value, str) for value in settings.values()) else None
        with self._lock:
            if flat is not None and flat in self._seen_together:  # as with each table that a catalog gives
                return frozenset()
            fresh = [pair for pair in _flat(settings) if pair not in self._seen]
            self._seen.update(fresh)
            if flat is not None and len(self._seen_together) < MAX_TOGETHER:
                self._seen_together.add(flat)
            texts: set[str] = set()
            for key, value in fresh:
                texts |= {text for text in secret_texts(key, value) if is_hidden_by_value(text)}
                if 0 < len(weakest_text(key, value)) < SHORTEST:
                    self._too_short.add(key)
            for text in texts:
                self._look_for(text)
        return frozenset(spelled for text in texts for spelled in spellings(text))

    @property
    def learned(self) -> frozenset[tuple[str, str]]:
        """The keys and values that were learned."""
        with self._lock:
            return frozenset(self._seen)

    @property
    def too_short(self) -> frozenset[str]:
        """The keys of secrets that are too short to be hidden by value."""
        with self._lock:
            return frozenset(self._too_short)

    def hide(self, text: str) -> str:
        """Return ``text`` with every known secret hidden, in any spelling, and with unknown ones of known shapes."""
        if self._fragments:
            spans = (
                reading.origin(*span) for reading in readings(text) for span in self._fragments.spans(reading.text)
            )
            text = _without(text, sorted(spans))
        return _without_shapes(text)

    def _look_for(self, text: str) -> None:
        is_atom = not _is_composite(text)
        for form in _forms(text):
            self._fragments.add(Needle(form, is_atom))
        for code in _base64(text):
            self._fragments.add(Needle(code, is_atom=True, is_encoded=True))


_KNOWN = Mask()


def learn(settings: Mapping[str, object]) -> frozenset[str]:
    """Learn the secrets among settings, for this process; return the texts that are hidden from now on."""
    return _KNOWN.learn(settings)


def learned() -> frozenset[tuple[str, str]]:
    """Return the keys and values that this process has learned, for a child process that is to hide them too."""
    return _KNOWN.learned


def learn_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Learn what another process has learned."""
    for key, value in pairs:
        _KNOWN.learn({key: value})


def learn_environment(environ: Mapping[str, str]) -> frozenset[str]:
    """Learn the secrets in the environment, for this process; return the texts that are hidden from now on."""
    return learn({key: value for key, value in environment_settings(environ).items() if not _names_file(key)})


def hide(text: str) -> str:
    """Return ``text`` with every secret hidden that this process knows: safe for logs, errors, pages and APIs."""
    return _KNOWN.hide(text)


def too_short() -> frozenset[str]:
    """Return the keys of secrets that this process knows and cannot hide: they have fewer than ``SHORTEST`` characters."""
    return _KNOWN.too_short


def short_secret(key: str) -> str:
    """Return the warning about a secret that cannot be hidden by value."""
    return (
        f"The secret of {key!r} has fewer than {SHORTEST} characters, so floe cannot hide it where a message quotes it. "
        "Use a longer one."
    )


def short_in_environment(environ: Mapping[str, str]) -> list[str]:
    """Return the variables with connections and catalogs whose secrets are too short to be hidden by value."""
    named = {name: value for name, value in environ.items() if name.startswith(_OF_CONNECTIONS)}
    return [name for name, value in named.items() if Mask.of(environment_settings({name: value})).too_short]


def clip(text: str, limit: int) -> str:
    """Return ``text`` with secrets hidden, as ``hide`` does, and then shortened to ``limit`` characters."""
    message = hide(text)
    return message if len(message) <= limit else f"{message[: limit - 1]}…"


def is_hidden_by_value(text: str) -> bool:
    """Whether a secret text is hidden wherever it is quoted."""
    return len(text) >= SHORTEST and text.lower() not in _NO_SECRETS


def spellings(secret: str) -> frozenset[str]:
    """Return a secret unchanged, by ``repr``, in JSON and in a URL: for programs that hide secrets by text only.

    They are few, because Airflow compiles its expression of all texts again for each.
    """
    if len(secret) > MAX_LENGTH:
        return frozenset((secret,))
    nbytes = secret.encode(errors="surrogatepass")
    quoted = {quote(nbytes, safe="/"), quote(nbytes, safe=""), quote_plus(nbytes)}
    plain = {secret, repr(secret)[1:-1], repr(nbytes)[2:-1], json.dumps(secret)[1:-1]}
    return frozenset(text for text in plain | quoted if len(text) >= SHORTEST)


def _without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Hide parts of a text, sorted by their start; overlapping ones as one."""
    parts: list[str] = []
    done = 0
    for start, end in spans:
        if start > done or not parts:
            parts += (text[done:start], HIDDEN)
        done = max(done, end)
    return "".join(parts) + text[done:]


def _forms(secret: str) -> Iterator[str]:
    """Yield a secret with escapes undone, and as paths, consoles and SASL change it."""
    if len(secret) > MAX_LENGTH:
        yield secret
        return
    forms = {secret.replace(" ", "+"), re.sub("//+", "/", secret)}
    forms |= {reading.text for reading in readings(secret)}  # its own escapes are undone with those of a message
    if not secret.isascii():
        forms |= {unicodedata.normalize(form, secret) for form in ("NFC", "NFD", "NFKC")}
        forms |= {changed for form in forms for changed in _beyond_ascii(form)}
    yield from (form for form in forms if len(form) >= SHORTEST)


def _is_composite(text: str) -> bool:
    """Whether a text contains more than a secret, like JAAS or an address: the secrets in it are learned separately."""
    if "\n" in text or "://" in text or text.startswith("//"):
        return True
    return "=" in text and _BLANK.search(text) is not None


def _beyond_ascii(text: str) -> Iterator[str]:
    """Yield a text with its bytes as characters, with its UTF-16 units as characters, and with unknown ones replaced."""
    nbytes = text.encode(errors="surrogatepass")
    units = text.encode("utf-16-be", errors="surrogatepass")
    yield nbytes.decode("latin-1")
    yield "".join(chr(int.from_bytes(units[at : at + 2])) for at in range(0, len(units), 2))
    yield re.sub("[^\0-\x7f]", "?", text)
    yield from (nbytes.decode("ascii", errors="replace").replace("\ufffd", mark) for mark in ("?", "\ufffd"))


def _without_shapes(text: str) -> str:
    """Hide what can be nothing but a secret: a header's token, a web token, the password of an address.

    The mask has not learned these: a token that a catalog issued, an address in a server's answer.
    """
    if "://" in text:
        text = _LOGIN.sub(rf"\1{HIDDEN}@", text)
    return _TOKEN.sub(lambda found: f"{found[1] or found[2] or found[3] or ''}{HIDDEN}", text)


def _base64(secret: str) -> set[str]:
    """Return the base64 texts of the secret inside any other text: ``user:password``, for any user."""
    if len(secret) > MAX_LENGTH:
        return set()
    found = set()
    for nbytes in {secret.encode(errors="surrogatepass"), secret.encode("latin-1", errors="replace")}:
        for before in range(3):
            encoded = base64.b64encode(b"\0" * before + nbytes).decode()
            found.add(encoded[-(-before * 4 // 3) : (before + len(nbytes)) * 4 // 3])
    return {code for text in found for code in (text, text.translate(_URL_SAFE))}


_URL_SAFE = str.maketrans("+/", "-_")


def _names_file(key: str) -> bool:
    """Whether a variable contains no secret: the path of a file with them, the class that reads them, a shell's folder."""
    return key in ("pwd", "oldpwd") or bool(re.search(r"[-.](file|path|dir|folder|home|backend|class|cmd)$", key))


def _flat(settings: Mapping[str, object], depth: int = 0) -> list[tuple[str, str]]:
    """Return settings as pairs of text; nested and JSON values also by their inner keys."""
    pairs: list[tuple[str, str]] = []
    for key, value in settings.items():
        nested = _object(value) if depth < _MAX_NESTED else None
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
