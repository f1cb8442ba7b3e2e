"""The worker file, which ``FLOE_WORKER_CONFIG`` names: the properties of a Kafka Connect worker."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from floe.config.properties import Properties

# The worker file: the properties of a Kafka Connect worker, which ``FLOE_WORKER_CONFIG`` names.


VARIABLE: Final = "FLOE_WORKER_CONFIG"
MAX_BYTES: Final = 1 << 20
MAX_KEYS: Final = 5000

_Version = tuple[str, int, int, int]


@dataclass(frozen=True)
class WorkerFile:
    """The keys of a worker file; none where there is no file. With ``problems`` no connector can be read.

    ``path`` is empty where the environment names no file.
    """

    path: str = ""
    keys: Properties = Properties()  # noqa: RUF009 - immutable
    problems: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The file, for messages."""
        return f"the worker file {self.path} ({VARIABLE})" if self.path else f"a worker file ({VARIABLE} is not set)"


NO_FILE: Final = WorkerFile()

_READ: dict[_Version, WorkerFile] = {}
"""The version of the file that was read last: a folder of connectors is parsed with one."""


def worker_file(environ: Mapping[str, str]) -> WorkerFile:
    """Read the file that the environment names; again only if it changed. What is wrong with it is in its ``problems``."""
    path = environ.get(VARIABLE, "").strip()
    if not path:
        return NO_FILE
    full = Path(path).expanduser()
    try:
        status = full.stat()
        version = (path, status.st_mtime_ns, status.st_size, status.st_ino)
        found = _READ.get(version)
        if found is None:
            found = _parse(path, _content(full, status))
            _READ.clear()
            _READ[version] = found
    except OSError as error:
        return _broken(path, f"it cannot be read: {error.strerror or error}")
    except ValueError as error:
        return _broken(path, str(error))
    return found


def _content(path: Path, status: os.stat_result) -> bytes:
    if not stat.S_ISREG(status.st_mode):
        msg = "it is no file"
        raise ValueError(msg)
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _parse(path: str, content: bytes) -> WorkerFile:
    if len(content) > MAX_BYTES:
        return _broken(path, f"it has more than {MAX_BYTES} bytes")
    try:
        keys = parse_properties(content.decode("latin-1"))  # as Java reads a stream
    except MalformedProperties as error:
        return _broken(path, str(error))
    if len(keys) > MAX_KEYS:
        return _broken(path, f"it has {len(keys)} keys: a worker has at most {MAX_KEYS}")
    return WorkerFile(path, Properties({key: value.strip() for key, value in keys.items()}))


def _broken(path: str, why: str) -> WorkerFile:
    problem = (
        f"the worker file {path} ({VARIABLE}): {why}. No connector is read without it: correct the file or the variable"
    )
    return WorkerFile(path, problems=(problem,))


# Java's format of properties, as ``java.util.Properties.load`` reads it.


_LINE: Final = re.compile(r"\r\n|\r|\n")
_BLANK: Final = " \t\f"
_SEPARATORS: Final = frozenset("=: \t\f")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_UNICODE: Final = re.compile(r"[0-9A-Fa-f]{4}")


class MalformedProperties(ValueError):
    """A text is not in the format; the message names the line, and shows none of its text."""


def parse_properties(text: str) -> dict[str, str]:
    """Read keys and values. Of a key that is given several times the last value counts, as in Java.

    :raises MalformedProperties: a ``\\u`` without four hexadecimal digits, half of a surrogate pair, or a NUL character.
    """
    found: dict[str, str] = {}
    for number, line in _logical_lines(text):
        end = _end_of_key(line)
        rest = line[end:].lstrip(_BLANK)
        if rest[:1] in ("=", ":"):
            rest = rest[1:].lstrip(_BLANK)
        found[_unescaped(line[:end], number)] = _unescaped(rest, number)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines that are neither blank nor comments, joined where they are continued, with the number of the first."""
    joined, first = "", 0
    for number, natural in enumerate(_LINE.split(text), 1):
        line = natural.lstrip(_BLANK)
        if not first and (not line or line[0] in "#!"):
            continue
        first = first or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        joined += line
        if joined:
            yield first, joined
        joined, first = "", 0
    if joined:
        yield first, joined


def _end_of_key(line: str) -> int:
    """Return where the key ends: at the first separator that is not escaped."""
    at = 0
    while at < len(line) and line[at] not in _SEPARATORS:
        at += 2 if line[at] == "\\" else 1
    return min(at, len(line))


def _unescaped(text: str, number: int) -> str:
    if "\\" not in text:
        return _checked(text, number)
    parts: list[str] = []
    at = 0
    while (found := text.find("\\", at)) >= 0:
        parts.append(text[at:found])
        kind = text[found + 1 : found + 2]
        at = found + 2
        if kind == "u":
            if _UNICODE.match(text, at) is None:
                msg = f"line {number}: \\u needs four hexadecimal digits behind it"
                raise MalformedProperties(msg)
            kind = chr(int(text[at : at + 4], 16))
            at += 4
        else:
            kind = _ESCAPES.get(kind, kind)
        parts.append(kind)
    return _checked("".join([*parts, text[at:]]), number)


def _checked(text: str, number: int) -> str:
    """Return a text with its surrogate pairs joined."""
    if text.isascii():
        joined = text
    else:
        try:
            joined = text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            msg = f"line {number}: \\u has half of a surrogate pair: write both halves"
            raise MalformedProperties(msg) from None  # the cause would carry the text, a secret perhaps
    if "\0" in joined:
        msg = f"line {number}: a NUL character: no name and no path has one; write it without"
        raise MalformedProperties(msg)
    return joined
