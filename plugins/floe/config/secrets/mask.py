"""Hiding secrets in texts by their value, in every spelling that libraries give them, and where they were cut.

Messages of libraries quote their input: a header, an address, a property. So all secrets that a process reads are
learned here, and every text passes through ``hide`` when it leaves floe: its logs, the lines relayed from Spark,
the errors raised to Airflow, and the answers of pages and APIs. Texts that are also shortened pass through ``clip``.
"""

from __future__ import annotations

import base64
import json
import re
import threading
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import quote, quote_plus

from floe.config.exceptions import MAX_SHOWN_PROBLEMS
from floe.config.secrets.detection import HIDDEN, JWT, environment_settings, is_secret, secret_texts, weakest_text
from floe.config.secrets.fragments import GRAM, MIN_CUT, Fragments, Needle

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
    def of(cls, settings: Mapping[str, object]) -> Mask:
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


# Texts with escapes undone: the text of a message under the quoting of Python, JSON, a URL or HTML.
#
# Libraries escape different characters, in either case, and one library quotes the quoted text of another. So escapes
# are undone in the message, for any library. Bytes that are not UTF-8 are read as Latin-1.


_MAX_DEPTH = 2
"""Nested quotings of different kinds that are undone: JSON in a URL."""
_MAX_BACKSLASHES = 3
"""Nested quotings by backslashes that are undone: an answer in JSON, in JSON, shown by ``repr``."""


@dataclass(frozen=True)
class Reading:
    """A text with escapes undone, and the places of its characters in the text before that."""

    text: str
    _starts: list[int] = field(default_factory=list)
    """Start of an undone escape in this text, per escape."""
    _ends: list[int] = field(default_factory=list)
    _after: list[int] = field(default_factory=list)
    """Where the earlier text continues after the escape, per escape."""
    _before: Reading | None = None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Return the place of a part of this text in the original text."""
        if self._before is None:
            return start, end
        last = bisect_right(self._ends, end) - 1
        while last >= 0 and self._starts[last] == end:  # it became empty, and is after the part
            last -= 1
        return self._before.origin(self._place(start, bisect_right(self._ends, start) - 1), self._place(end, last))

    def _place(self, position: int, escape: int) -> int:
        return position if escape < 0 else self._after[escape] + position - self._ends[escape]

    def undone(self, escapes: re.Pattern[str], meaning: Callable[[str], str]) -> Reading | None:
        """Undo escapes of one kind; None if there are none."""
        parts: list[str] = []
        starts: list[int] = []
        ends: list[int] = []
        after: list[int] = []
        done = length = 0
        for found in escapes.finditer(self.text):
            plain = meaning(found[0])
            parts += (self.text[done : found.start()], plain)
            starts.append(length + found.start() - done)
            length = starts[-1] + len(plain)
            done = found.end()
            ends.append(length)
            after.append(done)
        if not ends:
            return None
        return Reading("".join(parts) + self.text[done:], starts, ends, after, self)


def readings(text: str) -> Iterator[Reading]:
    """Yield a text unchanged, as one line, and with escapes undone: each kind, and one within another."""
    whole = Reading(text)
    yield whole
    if "\n" in text and (folded := whole.undone(_FOLD, lambda _: "")):
        yield folded
    level, seen = [whole], {text}
    for depth in range(1, _MAX_BACKSLASHES + 1):
        kinds = _KINDS if depth <= _MAX_DEPTH else _KINDS[:1]
        found = [inner for reading in level for kind in kinds if (inner := reading.undone(*kind)) is not None]
        level = []
        for reading in found:
            if reading.text not in seen:
                seen.add(reading.text)
                level.append(reading)
        yield from level


def _of_backslash(escape: str) -> str:
    mark = escape[1]
    if mark in "uUx" and len(escape) > 2:
        code = int(escape[2:].lstrip("u"), 16)
        return chr(code) if code <= 0x10FFFF else escape
    if mark in "01234567":
        return chr(int(escape[1:], 8))
    return _CONTROLS.get(mark, mark)


def _of_percent(escape: str) -> str:
    nbytes = bytes.fromhex(escape.replace("%", ""))
    try:
        return nbytes.decode()
    except UnicodeDecodeError:
        return nbytes.decode("latin-1")


def _of_entity(escape: str) -> str:
    if escape[1] != "#":
        return unescape(escape)
    code = int(escape[3:-1], 16) if escape[2] in "xX" else int(escape[2:-1])
    return chr(code) if code <= 0x10FFFF else escape


_CONTROLS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f", "v": "\v", "a": "\a"}
_FOLD = re.compile(r"\r?\n[ \t]*")
_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (
        re.compile(r"\\(?:u+[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|U[0-9a-fA-F]{8}|[0-7]{1,3}|.)", re.DOTALL),
        _of_backslash,
    ),
    (re.compile(r"%[c-fC-F][0-9a-fA-F](?:%[89abAB][0-9a-fA-F]){1,3}|%[0-9a-fA-F]{2}"), _of_percent),
    (re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,31});"), _of_entity),
)


# Secrets that messages about a connector file quote: DAG docs and import errors contain problems and warnings.
#
# A file may have thousands of settings, and splitting one secret into the texts that must not be shown costs a
# hundred times as much as reading it. So only settings that the messages can quote are split, and only a limited
# number of them.


MAX_COMPARED = 300
"""Secrets that are searched for in the messages."""
MAX_HIDDEN = 50
"""Secrets that are found there, and hidden."""

_MAX_TEXTS = MAX_SHOWN_PROBLEMS - 1
_SEPARATOR = re.compile(r"[\s:=@/?#;,&]")
_ESCAPED = re.compile(r"[\"'\\]")
_MAX_LENGTH = 4096


def without_secrets(properties: Mapping[str, str], texts: Collection[str]) -> tuple[str, ...]:
    """Return the first messages with the secrets among ``properties`` hidden, and how many more there are."""
    if not texts:
        return ()
    first = list(texts)[:_MAX_TEXTS]
    quoted = _quoted(properties, "\n".join(first))
    if quoted is None:
        return (
            f"{len(texts)} messages about this connector are not shown, as too many of its values look like secrets that "
            "they may quote: remove settings that are not for it",
        )
    mask = Mask.of(quoted)
    more = [f"… and {len(texts) - len(first)} more"] if len(texts) > len(first) else []
    return (*(mask.hide(text) for text in first), *more)


def _quoted(properties: Mapping[str, str], message: str) -> dict[str, str] | None:
    """Return the secrets that a text quotes; None if there are too many."""
    lowered = message.lower()  # the host of a secret address is quoted so
    begins = {text[i : i + SHORTEST] for text in (message, lowered) for i in range(len(text) - SHORTEST + 1)}
    compared = 0
    quoted: dict[str, str] = {}
    for key, value in properties.items():
        if len(value) < SHORTEST or not _may_be_quoted(value, begins) or not is_secret(key, value):
            continue
        compared += 1
        if compared > MAX_COMPARED or len(quoted) > MAX_HIDDEN:
            return None
        # messages shorten what they quote, so its first characters count
        if _is_escaped(value) or any(text[:MIN_CUT] in message for text in secret_texts(key, value)):
            quoted[key] = value
    return quoted


def _may_be_quoted(value: str, begins: set[str]) -> bool:
    """Whether one of the texts into which a value may be split has the same beginning as a text in the messages.

    They begin with the value or after a separator. Encoded values have other texts, so they count as quoted.
    """
    if value[:SHORTEST] in begins or value[:SHORTEST].lower() in begins:
        return True
    if value.isalnum():
        return False
    if len(value) > _MAX_LENGTH or _is_escaped(value) or _is_encoded(value):
        return True
    lowered = value.lower()
    for found in _SEPARATOR.finditer(value):
        place = found.end()
        if value[place : place + SHORTEST] in begins or lowered[place : place + SHORTEST] in begins:
            return True
    return len(lowered) != len(value)


def _is_escaped(value: str) -> bool:
    """Whether messages may spell a value differently: with backslashes."""
    return not value.isprintable() or _ESCAPED.search(value) is not None


def _is_encoded(value: str) -> bool:
    """Whether a value may contain a login or a pair in the spelling of URLs, or a header in base64."""
    if ("%" in value or "+" in value) and ("@" in value or "=" in value):
        return True
    return value.lstrip()[:5].lower() == "basic"
