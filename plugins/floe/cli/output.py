"""How commands print: JSON, and text in columns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

from floe.config.check import readable


def print_json(value: object) -> None:
    """Print a value as JSON, at once."""
    print(json.dumps(value, indent=2, ensure_ascii=False), flush=True)


def print_line(text: str) -> None:
    """Print a text so that a terminal only shows it, at once."""
    print(readable(text), flush=True)


def columns(rows: Iterable[Sequence[str]], indent: str = "  ") -> Iterable[str]:
    """Yield rows as lines with their cells below each other."""
    shown = [[cell.replace("\n", " ") for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*shown, strict=True)]
    for row in shown:
        yield indent + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def has_symbols() -> bool:
    """Whether the output has characters beyond ASCII."""
    return (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")


# What ends a command before it has anything to report.


class UsageError(ValueError):
    """An argument names nothing; the message says what there is."""


class NotLookedUp(LookupError):
    """An Airflow connection or variable could not be looked up from here; the message says why."""


class NotUsable(NotLookedUp):
    """An Airflow connection or variable does not exist, or is none: a run would not find it either."""
