"""``keys``: the table of configuration keys, searched."""

from __future__ import annotations

import argparse
import shutil
import textwrap
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from floe.cli.output import print_json, print_line
from floe.config.keys.key import Key, Status
from floe.config.keys.lookup import KEYS, find

_MIN_WIDTH, _MAX_WIDTH = 60, 120


def run(options: argparse.Namespace) -> int:
    """Print the keys that a pattern finds; 1 where it finds none."""
    found = matching(options.pattern)
    if options.json:
        print_json([key_json(key) for key in found])
    else:
        width = max(_MIN_WIDTH, min(shutil.get_terminal_size().columns, _MAX_WIDTH))
        for key in found:
            for line in _lines(key, width):
                print_line(line)
        if not found:
            print_line(f"no key matches {options.pattern[:200]!r}")
    return 0 if found else 1


def matching(pattern: str) -> list[Key]:
    """Return the keys whose name or meaning contains a text, or whose name a glob matches; the exact one alone.

    A key as a connector may have it, such as ``iceberg.table.db.t.partition-by``, finds the row that it belongs to.
    """
    low = pattern.strip().lower()
    exact = [key for key in KEYS if key.name == pattern.strip()]
    if exact:
        return exact
    found = [key for key in KEYS if low in key.name.lower() or fnmatchcase(key.name.lower(), low)]
    found = found or [key for key in KEYS if low in key.doc.lower()]
    row = None if found else find(pattern.strip())
    return found or ([row] if row else [])


def key_json(key: Key) -> dict[str, Any]:
    """Return a key as JSON."""
    is_supported = key.status is Status.SUPPORTED
    return {
        "name": key.name,
        "type": key.kind.value,
        "default": key.default,
        "class": key.key_class.value if is_supported else None,
        "status": key.status.value,
        "meaning": key.doc,
    }


def _lines(key: Key, width: int) -> Iterator[str]:
    default = "no default" if key.default is None else f"default {key.default!r}" if key.default else "default empty"
    facts = [key.kind.value, default]
    facts += [f"class {key.key_class.value}"] if key.status is Status.SUPPORTED else [key.status.value]
    yield f"{key.name}  ({', '.join(facts)})"
    yield from textwrap.wrap(key.doc, width, initial_indent="    ", subsequent_indent="    ")
