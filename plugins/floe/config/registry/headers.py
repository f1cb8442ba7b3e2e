"""Headers that are sent to a registry with each request."""

from __future__ import annotations

import re
from typing import Final

from floe.config.keys.option_reader import OptionReader
from floe.config.secrets.detection import is_reference

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def read_headers(options: OptionReader, *prefixes: str) -> dict[str, str]:
    """Return the headers below the prefixes, by name: texts that HTTP can send (RFC 9110, section 5)."""
    found: dict[str, str] = {}
    for key, value in options.options.items():
        prefix = next((one for one in prefixes if key.startswith(one)), None)
        if prefix is None:
            continue
        options.used.add(key)
        name = key.removeprefix(prefix)
        if not _NAME.fullmatch(name):
            options.refuse(
                key[:100], "what follows the prefix is no name of a header: write letters, digits and hyphens"
            )
        check_sendable(options, key, value)
        found[name] = value
    return found


def check_sendable(options: OptionReader, key: str, value: str) -> None:
    """Refuse a value that no header can have; it may be a secret and is not shown."""
    if not (_VALUE.fullmatch(value) or is_reference(value)):
        options.refuse(key, "the value has a line break or another character that no header can have: remove it")
