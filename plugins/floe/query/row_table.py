"""Rows as a table for a terminal, or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

MAX_CELL: Final = 200
"""Characters of a value that are shown."""


def as_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Draw rows; values are one line each, and only shown by a terminal, whatever is in them."""
    from tabulate import tabulate

    drawn = [[cell(value) for value in row] for row in rows]
    return str(tabulate(drawn, [cell(name) for name in columns], tablefmt="psql", disable_numparse=True))


def as_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return rows as objects: numbers, flags and NULL as JSON has them, anything else as text."""
    return [dict(zip(columns, map(_value, row), strict=True)) for row in rows]


def cell(value: object) -> str:
    """Write a value on one line of at most MAX_CELL characters."""
    text = "NULL" if value is None else _text(value)
    shown = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text[: MAX_CELL + 1])
    return shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 1] + "…"


def _value(value: object) -> object:
    is_plain = value is None or isinstance(value, bool | int)
    return value if is_plain or (isinstance(value, float) and value - value == 0) else _text(value)


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)
