"""What an API server's database has, to see what a call changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import Any


def rows(path: Path, leave_out: Collection[str] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """Return the rows of all tables of a SQLite database, in an order of their own. ``leave_out``: tables."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        names = [str(name) for (name,) in connection.execute(query) if name not in leave_out]
        return {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)  # noqa: S608 - its own names
            for name in names
        }


def changed(before: dict[str, list[tuple[Any, ...]]], after: dict[str, list[tuple[Any, ...]]]) -> dict[str, Any]:
    """Return the rows that are new or gone, by table."""
    found = {
        name: [row for row in [*before[name], *after[name]] if _differs(row, name, before, after)] for name in before
    }
    return {name: some for name, some in found.items() if some}


def _differs(row: tuple[Any, ...], name: str, before: Any, after: Any) -> bool:
    return (row in before[name]) != (row in after[name])
