"""The check of connector files: what ``python -m floe check`` and ``python -m floe.config check`` print."""

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from floe.config.connector_files import ConnectorFile, load_connectors, make_names_unique, read_file
from floe.config.exceptions import ConfigError, ExtensionUnusable
from floe.config.report import counted, readable, report, rows_of, warnings_of, worker_report
from floe.config.secrets.mask import clip, short_in_environment, short_secret
from floe.config.worker.worker_file import worker_file
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
