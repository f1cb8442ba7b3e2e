"""Texts that came from connector files, for people: on one line of a log or an error, and in the Markdown of a DAG's docs."""

import re

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&])")
_BLANKS = re.compile(r"\s+")


def readable(text: str) -> str:
    """Write a text on one line, in characters that can be stored and shown."""
    line = _BLANKS.sub(" ", text.encode(errors="backslashreplace").decode())
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in line)


def markdown(text: str) -> str:
    """Write a text so that Markdown shows it as it is: it makes no link, no image, no HTML."""
    return _MARKDOWN.sub(r"\\\1", readable(text))
