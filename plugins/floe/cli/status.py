"""``status``: where connectors are, asked of Kafka and of their tables now."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from floe.cli.airflow_lookup import dead_parts
from floe.cli.connectors import find_connectors
from floe.cli.output import print_json, print_line
from floe.cli.status_text import status_lines
from floe.config.connector_files import ConnectorFile

_CLEAR = "\x1b[2J\x1b[H"


def run(options: argparse.Namespace) -> int:
    """Show the status of connectors; 1 where one has a problem. Raises UsageError."""
    while True:
        files = find_connectors(options.connectors, options.folder)
        code = _show(files, options)
        if options.watch is None:
            return code
        time.sleep(options.watch)
        if sys.stdout.isatty() and not options.json:
            sys.stdout.write(_CLEAR)


def _show(files: Sequence[ConnectorFile], options: argparse.Namespace) -> int:
    from floe.status.model import ConnectorStatus

    dead = dead_parts()
    found = [_status(file, options) for file in files]
    if options.json:
        print_json([_with_problems(one, dead) for one in found])
    else:
        for text in dead:
            print_line(f"problem: {text}")
        for one in found:
            lines = status_lines(one) if isinstance(one, ConnectorStatus) else _broken_lines(one)
            for line in lines:
                print_line(line)
    return 1 if not files or dead or any(_has_problem(one) for one in found) else 0


def _with_problems(one: Any, more: tuple[str, ...]) -> Any:
    """Return a status, or what is known of a broken file, as JSON, with the problems that all connectors have."""
    fields = one if isinstance(one, dict) else one.to_json()
    return {**fields, "problems": [*more, *fields["problems"]]}


def _broken_lines(one: dict[str, Any]) -> Iterator[str]:
    yield f"{one['name']}: the connector file cannot be used"
    yield from (f"  problem: {text}" for text in one["problems"])


def _status(file: ConnectorFile, options: argparse.Namespace) -> Any:
    """Return a ConnectorStatus; of a broken file, its name and its problems."""
    if file.connector is None:
        return {"name": file.name, "problems": list(file.error.problems if file.error else ())}
    from floe.cli.settings import look_up
    from floe.status.reader import collect, latest

    found = look_up(file.connector)
    lacking = {**found.unknown, **found.unusable}
    whys = tuple(why for part, why in lacking.items() if part in ("kafka", "catalog"))
    if found.settings is None:
        status = latest(found.connector, commits=options.commits)
    else:
        status = collect(found.connector, found.settings, dead_letters=options.dead_letters, commits=options.commits)
    return replace(status, problems=(*whys, *status.problems))


def _has_problem(one: Any) -> bool:
    if isinstance(one, dict):
        return True
    parts = (*(one.partitions or ()), *(one.tables or ()))
    return bool(one.problems or one.backlog or any(part.problem for part in parts))
