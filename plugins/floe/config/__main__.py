"""``python -m floe.config check FILE…`` validates connectors; ``… keys`` prints the tables of the manual."""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path

from floe.config.connector import Connector
from floe.config.deployment_key import NO_KEY, has_key
from floe.config.files import ConnectorFile, load_connectors, read_file, settle_names
from floe.config.key import Status
from floe.config.manual import key_table, library_table
from floe.config.secrets import shown
from floe.config.tables import Tables

_NOT_SETTINGS = {"properties", "warnings"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; 0 when all is well, 1 when a connector is not."""
    parser = argparse.ArgumentParser(prog="python -m floe.config")
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="validate connector files without running anything")
    check.add_argument("paths", metavar="FILE", nargs="+", type=Path, help="a connector file, or a folder of them")
    commands.add_parser("keys", help="print the keys as Markdown tables")
    options = parser.parse_args(arguments)
    if options.command == "keys":
        print("\n\n".join([*(key_table(status) for status in Status), library_table()]))
        return 0
    files = settle_names([file for path in options.paths for file in _files_at(path)])
    if not has_key(os.environ):
        print(f"warning: in this environment {NO_KEY}", file=sys.stderr)
    print("\n".join(report(file) for file in files) or "no connector files")
    return 0 if files and all(file.connector for file in files) else 1


def report(file: ConnectorFile) -> str:
    """Say what one file comes to, secrets hidden."""
    if file.connector is None:
        return f"ERROR {file.error}"
    connector = file.connector
    settings = [f"  {name:22}{text}" for name, text in _settings(connector)]
    return "\n".join([f"OK {file.path}", *settings, *(f"  warning: {warning}" for warning in connector.warnings)])


def _files_at(path: Path) -> list[ConnectorFile]:
    return load_connectors(path) if path.is_dir() else [read_file(path)]


def _settings(connector: Connector) -> list[tuple[str, str]]:
    rows = [(field.name, getattr(connector, field.name)) for field in fields(connector)]
    settings = [(name, _text(value)) for name, value in rows if name not in _NOT_SETTINGS]
    return [*settings, ("offset_reset", connector.offset_reset)]


def _text(value: object) -> str:
    match value:
        case None | () | "":
            return "-"
        case Tables():
            by_table = [("default", value.default), *value.known]
            return "; ".join(f"{name}: {_text(one)}" for name, one in by_table)
        case tuple():
            return ", ".join(_text(part) for part in value)
        case frozenset():
            return " ".join(sorted(value))
        case Mapping():
            return ", ".join(f"{key}={shown(key, text)}" for key, text in value.items()) or "-"
    if is_dataclass(value) and type(value).__str__ is object.__str__:
        parts = [(field.name, getattr(value, field.name)) for field in fields(value)]
        return " ".join(f"{name}={_text(part)}" for name, part in parts if part not in (None, (), "")) or "-"
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
