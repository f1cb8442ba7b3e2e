"""Pages of which a test does what their reader does: commands, files to save, clicks; and compares what they show.

* A block of ``sh`` is run, in one shell for the page. A block without a language below it is what it prints: ``…`` is any
  text, alone on a line any lines; blanks and dashes may be more or fewer.
* A block of ``json`` below "Save this as `file`" is a file.
* A comment ``<!-- test: … -->`` is what the reader does elsewhere: see :class:`Verb`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from tests.support.repository import DOCS

_COMMENT = re.compile(r"<!-- test: (\w+) (\S+) -->")
_FILE = re.compile(r"Save this as `([^`]+)`")


class Verb(Enum):
    """What a test does for a reader; what follows is a DAG, for ADD a file."""

    RUN = "run"
    """Run a block of the shell."""
    SAVE = "save"
    """Save a block as a file."""
    ADD = "add"
    """Add the next block of JSON to a connector's file, above its other keys."""
    START = "start"
    """Unpause the DAG, and wait until the scheduler's first run is successful."""
    WAIT = "wait"
    """Wait until a run that the reader did not trigger is successful."""
    TRIGGER = "trigger"
    """Trigger a run, and wait until it is successful; again if it began before Airflow read a changed file."""
    FAIL = "fail"
    """Trigger a run, and wait until it fails."""


@dataclass(frozen=True)
class Step:
    """What a reader does at a line of a page; ``shown``: what the page says that it prints; None where it says nothing."""

    line: int
    verb: Verb
    what: str
    text: str = ""
    shown: str | None = None


@dataclass(frozen=True)
class Block:
    """A block of code: the line of its fence, its language, its text, and the last line of prose above it."""

    line: int
    language: str
    text: str
    above: str


def steps(page: str, replaced: Mapping[str, str] | None = None) -> list[Step]:
    """Return the steps of a page of ``docs``; ``replaced``: ports and the like, by what the page has for them."""
    text = (DOCS / page).read_text(encoding="utf-8")
    for old, new in (replaced or {}).items():
        text = text.replace(old, new)
    return steps_of(text)


def steps_of(text: str) -> list[Step]:
    """Return the steps of a page's text. Raises ValueError for a comment of a verb that there is none of."""
    found: list[Step] = []
    for part in _parts(text.splitlines()):
        if isinstance(part, Step):
            found.append(part)
        elif part.language == "sh":
            found.append(Step(part.line, Verb.RUN, "bash", part.text))
        elif part.language == "json" and found and found[-1].verb is Verb.ADD and not found[-1].text:
            found[-1] = replace(found[-1], text=part.text)
        elif part.language == "json" and (named := _FILE.search(part.above)):
            found.append(Step(part.line, Verb.SAVE, named[1], part.text))
        elif not part.language and found and found[-1].verb is Verb.RUN and found[-1].shown is None:
            found[-1] = replace(found[-1], shown=part.text)
    return found


def _parts(lines: list[str]) -> Iterator[Block | Step]:
    """Yield blocks and comments in their order."""
    opened: tuple[int, str] | None = None
    inside: list[str] = []
    above = ""
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            if opened is None:
                opened, inside = (number, line[3:].strip()), []
            else:
                yield Block(*opened, "".join(f"{one}\n" for one in inside), above)
                opened, above = None, ""
        elif opened is not None:
            inside.append(line)
        elif line.startswith("<!-- test:"):
            if (comment := _COMMENT.fullmatch(line)) is None:
                message = f"line {number}: {line!r} is no comment of a verb and one word"
                raise ValueError(message)
            yield Step(number, Verb(comment[1]), comment[2])
        elif line.strip():
            above = line


def is_shown(expected: str, output: str) -> bool:
    """Say whether an output has the lines that a page shows of it."""
    wanted = "".join(_line_pattern(line) for line in _plain(expected))
    return re.search(wanted, "".join(f"{line}\n" for line in _plain(output)), re.MULTILINE) is not None


def _plain(text: str) -> list[str]:
    """Return lines without blanks, and with one dash for several: how wide a column is says nothing."""
    return [re.sub("-+", "-", "".join(line.split())) for line in text.splitlines()]


def _line_pattern(line: str) -> str:
    return r"(?:.*\n)*?" if line == "…" else "^" + ".*".join(map(re.escape, line.split("…"))) + r"\n"
