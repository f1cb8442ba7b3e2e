"""Secrets that messages about a connector file quote: DAG docs and import errors contain problems and warnings.

A file may have thousands of settings, and splitting one secret into the texts that must not be shown costs a hundred
times as much as reading it. So only settings that the messages can quote are split, and only a limited number of them.
"""

import re
from collections.abc import Collection, Mapping

from floe.config.exceptions import MAX_SHOWN_PROBLEMS
from floe.config.secrets.detection import is_secret, secret_texts
from floe.config.secrets.fragments import MIN_CUT
from floe.config.secrets.mask import SHORTEST, Mask

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
