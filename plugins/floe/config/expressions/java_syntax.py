r"""Syntax that Java has and Python does not, written for Python's parser: ``\Q…\E`` and ``(?<name>…)``."""

import re
from typing import Final

_CLASS: Final = r"\[\^?\]?(?:\\.|[^\]\\])*\]"
_NAMED: Final = re.compile(rf"{_CLASS}|\\.|\(\?<(?=[A-Za-z][A-Za-z0-9]*>)|.", re.DOTALL)


def for_python(text: str) -> str:
    """Write an expression without Java's quotes, and with Python's names of groups."""
    if "\\Q" in text:
        text = _unquoted(text)
    return _NAMED.sub(_with_name, text) if "(?<" in text else text


def _with_name(part: re.Match[str]) -> str:
    return "(?P<" if part[0] == "(?<" else part[0]


def _unquoted(text: str) -> str:
    r"""Write what is in quotes as escapes. Java looks for them before all else, in classes too; the last may be open."""
    made: list[str] = []
    at = 0
    while at < len(text):
        if text[at] != "\\":
            made.append(text[at])
            at += 1
        elif text[at : at + 2] != "\\Q":
            made.append(text[at : at + 2])
            at += 2
        else:
            end = text.find("\\E", at + 2)
            quoted = text[at + 2 :] if end < 0 else text[at + 2 : end]
            made += [_escaped(char, is_first=i == 0) for i, char in enumerate(quoted)]
            at = len(text) if end < 0 else end + 2
    return "".join(made)


def _escaped(char: str, *, is_first: bool) -> str:
    is_plain = not char.isascii() or char.isalpha() or (char.isdigit() and not is_first)
    return char if is_plain else f"\\x{ord(char):02x}"
