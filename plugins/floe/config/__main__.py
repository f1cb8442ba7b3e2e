"""``python -m floe.config check FILE…`` validates connectors; ``… keys`` and ``… catalogs`` print tables of the manual.

It needs nothing but Python, and asks no network.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from floe.config.catalogs.markdown import catalog_page
from floe.config.connector_files import ConnectorFile, load_connectors, make_names_unique, read_file
from floe.config.exceptions import ConfigError
from floe.config.keys.key import Status
from floe.config.keys.markdown import key_table, library_table
from floe.config.report import counted, readable, report, warnings_of, worker_report
from floe.config.secrets.deployment_key import NO_KEY, has_key
from floe.config.secrets.mask import short_in_environment, short_secret
from floe.config.worker.worker_file import worker_file
from floe.exceptions import with_code


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when all is well, 1 when a connector is not."""
    parser = argparse.ArgumentParser(prog="python -m floe.config")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="validate connector files without running anything")
    check.add_argument("paths", metavar="FILE", nargs="+", type=Path, help="a connector file, or a folder of them")
    check.add_argument("--strict", action="store_true", help="a warning about a file is an error")
    commands.add_parser("keys", help="print the keys as Markdown tables")
    commands.add_parser("catalogs", help="print the keys of catalogs as a page of Markdown")
    options = parser.parse_args(arguments)
    if options.command == "catalogs":
        print(catalog_page(), end="")
        return 0
    if options.command == "keys":
        print("\n\n".join([*(key_table(status) for status in Status), library_table()]))
        return 0
    return _check(options.paths, is_strict=options.strict)


def _check(paths: Sequence[Path], *, is_strict: bool) -> int:
    try:
        files = make_names_unique([file for path in paths for file in _files_at(path)])
    except ConfigError as error:
        print(f"ERROR {readable(with_code(str(error), error.code))}")
        return 1
    if not has_key(os.environ):
        print(f"warning: in this environment {NO_KEY}", file=sys.stderr)
    worker = worker_file(os.environ)
    if worker.keys:
        print(worker_report(worker))
    print("\n".join(report(file) for file in files) or "no connector files")
    for name in short_in_environment(os.environ):
        print(f"warning: {short_secret(name)}", file=sys.stderr)
    warnings = sum(len(warnings_of(file.connector)) for file in files if file.connector)
    if is_strict and warnings:
        print(f"ERROR {counted(warnings, 'warning')} above, which --strict takes for errors")
    has_error = not files or any(file.connector is None for file in files)
    return 1 if has_error or (is_strict and warnings) else 0


def _files_at(path: Path) -> list[ConnectorFile]:
    return load_connectors(path) if path.is_dir() else [read_file(path)]


if __name__ == "__main__":
    sys.exit(main())
