"""The check of connector files: what ``python -m floe check`` and ``python -m floe.config check`` print."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from floe.config.connector import OFFSET_RESET, Connector
from floe.config.connector_files import ConnectorFile, load_connectors, make_names_unique, read_file
from floe.config.exceptions import ConfigError, ExtensionUnusable
from floe.config.kafka.translation import translate
from floe.config.kafka.worker_keys import WorkerKeys
from floe.config.keys.key import Status
from floe.config.keys.lookup import KEYS, canonical
from floe.config.overrides.run_keys import class_of
from floe.config.secrets.detection import shown
from floe.config.secrets.mask import Mask, clip, short_in_environment, short_secret
from floe.config.sections.error_policy import TOLERANCE
from floe.config.sections.routing import ON_UNROUTABLE
from floe.config.worker_defaults import is_default
from floe.config.worker_file import WorkerFile, worker_file
from floe.exceptions import with_code

_MAX_PROBLEM = 2000


def read_connectors(paths: Sequence[Path]) -> list[ConnectorFile]:
    """Read connector files, and those of folders. Raises ConfigError for a folder that cannot be read."""
    return make_names_unique([_with_code(file) for path in paths for file in _files_at(path)])


def _with_code(file: ConnectorFile) -> ConnectorFile:
    """Return a file with an error where the code of its extensions cannot go to Spark's workers."""
    try:
        if file.connector is not None:
            file.connector.extension_sources()
    except ExtensionUnusable as error:
        return replace(file, connector=None, error=error.located(file.path))
    return file


def check(paths: Sequence[Path], *, is_strict: bool) -> int:
    """Print a report on connector files; 0 when all is well, 1 when a connector is not."""
    try:
        files = read_connectors(paths)
    except ConfigError as error:
        print(f"ERROR {readable(with_code(str(error), error.code))}")
        return 1
    worker = worker_file(os.environ)
    if worker.keys:
        print(worker_report(worker))
    print("\n".join(report(file) for file in files) or "no connector files")
    for name in short_in_environment(os.environ):
        print(f"warning: {short_secret(name)}", file=sys.stderr)
    warnings = sum(len(warnings_of(file.connector)) for file in files if file.connector)
    if is_strict and warnings:
        print(f"ERROR {counted(warnings, 'warning')} above, which --strict takes for errors")
    return exit_code(files, is_strict=is_strict)


def exit_code(files: Sequence[ConnectorFile], *, is_strict: bool) -> int:
    """Return 1 where there is no file, a broken one, or with ``is_strict`` one with a warning; else 0."""
    has_warning = any(warnings_of(file.connector) for file in files if file.connector)
    has_error = not files or any(file.connector is None for file in files)
    return 1 if has_error or (is_strict and has_warning) else 0


def file_json(file: ConnectorFile, *, is_strict: bool = False) -> dict[str, Any]:
    """Return the report on one file as JSON, secrets hidden. ``ok`` is false where the exit code of this file alone is 1."""
    connector, error = file.connector, file.error
    problems = error.problems if error else () if connector else ("the file contains no connector",)
    return {
        "path": str(file.path),
        "name": file.name,
        "ok": exit_code([file], is_strict=is_strict) == 0,
        "problems": [clip(problem, _MAX_PROBLEM) for problem in problems],
        "warnings": list(warnings_of(connector)) if connector else [],
        "notes": list(connector.notes) if connector else [],
        "keys": [
            {"key": row.key, "value": row.value, "from": row.source, "class": row.key_class}
            for row in (rows_of(connector, file.given) if connector else ())
        ],
    }


def _files_at(path: Path) -> list[ConnectorFile]:
    return load_connectors(path) if path.is_dir() else [read_file(path)]


# A report on a connector file, for people: its problems or warnings, then a row for each key.


_MAX_KEY = 60
_MAX_VALUE = 200
_MAX_KEYS = 50
_PROVIDERS = "config.providers"


class KeyRow(NamedTuple):
    """One key: its value with secrets hidden, where it is from, and the class that says which runs may set it."""

    key: str
    value: str
    source: str
    key_class: str


def report(file: ConnectorFile) -> str:
    """Describe one file: all its problems, or warnings and notes first and then every key that counts."""
    if file.connector is None:
        error = file.error or ConfigError("the file contains no connector")
        return f"ERROR {readable(with_code(str(error), error.code))}"
    connector = file.connector
    warnings = warnings_of(connector)
    lines = [f"OK {readable(str(file.path))}: connector {connector.name}, {counted(len(warnings), 'warning')}"]
    lines += [f"  WARNING {readable(warning)}" for warning in warnings]
    lines += [f"  NOTE {readable(note)}" for note in connector.notes]
    rows = [KeyRow("key", "value", "from", "class"), *rows_of(connector, file.given)]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append(f"  {'  '.join([*cells, row.key_class])}")
    return "\n".join(lines)


def worker_report(worker: WorkerFile) -> str:
    """Describe a worker file: which of its keys are whose, and which have no effect."""
    clients = WorkerKeys.of(worker)
    defaults = [key for key in worker.keys if is_default(key) or key.startswith(_PROVIDERS)]
    control, source = (list(client.spelled.values()) for client in (clients.control, clients.source))
    used = {*defaults, *control, *source, *clients.without_effect}
    others = counted(len(worker.keys.keys() - used), "other key")
    rows = [("connectors", defaults), ("clients of the control topic", control), ("clients of topics", source)]
    lines = [f"worker file {worker.path}"]
    lines += [f"  {who}: {_listed(keys)}" for who, keys in rows]
    if control or source:
        lines.append(
            "  an Airflow connection counts over its client settings; one with brokers takes no security of it"
        )
    lines += [f"  {key} has no effect: {why}" for key, why in [*clients.without_effect.items()][:_MAX_KEYS]]
    lines += [
        f"  WARNING {problem}, or put brokers and login into the Airflow connection" for problem in _unusable(clients)
    ]
    lines.append(f"  {others} of the worker itself (REST, plugins, storage, ...) mean nothing to floe")
    return readable("\n".join(lines))


def _listed(keys: list[str]) -> str:
    return ", ".join([*keys[:_MAX_KEYS], *(["…"] if len(keys) > _MAX_KEYS else [])]) or "none"


def _unusable(clients: WorkerKeys) -> Iterator[str]:
    """Yield the client settings that cannot be translated, as the file spells them."""
    found = {
        client.spelled[name]: why
        for client in (clients.control, clients.source)
        for name, why in translate(client.settings, may_refer=True, is_java=True).problems.items()
    }
    yield from (f"{key} is not usable: {why}" for key, why in found.items())


def warnings_of(connector: Connector) -> tuple[str, ...]:
    """Return a connector's warnings, and one for each secret that is too short to be hidden.

    Those are for users who may read the file. The connector's own warnings are in the docs of its DAG.
    """
    short = Mask.of(connector.properties).too_short
    return (*connector.warnings, *(short_secret(key) for key in sorted(short)))


def rows_of(connector: Connector, given: Collection[str]) -> Iterator[KeyRow]:
    """Yield the keys of a connector: ``given`` in its file, taken from the worker file, then those whose default holds."""
    for key, value in connector.properties.items():
        yield _row(key, value, "file" if key in given else "default" if key == "name" else "worker")
    spelled = {canonical(key) for key in connector.properties}
    effective = {
        OFFSET_RESET: connector.offset_reset,
        TOLERANCE: "all" if connector.errors.tolerate else "none",
        ON_UNROUTABLE: connector.routing.on_unroutable,
    }
    for entry in KEYS:
        default = effective.get(entry.name, entry.default)
        if default is None or entry.is_pattern or entry.status is not Status.SUPPORTED or entry.name in spelled:
            continue
        yield _row(entry.name, default.replace("<name>", connector.name), "default")


def counted(number: int, noun: str) -> str:
    """Write a number with its noun."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def readable(text: str) -> str:
    """Escape a text from a file so that a terminal only shows it; lines are kept."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _row(key: str, value: str, source: str) -> KeyRow:
    return KeyRow(_cut(key, _MAX_KEY), _cut(shown(key, value), _MAX_VALUE) or "(empty)", source, class_of(key).value)


def _cut(text: str, limit: int) -> str:
    line = readable(text).replace("\n", "\\n")
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
