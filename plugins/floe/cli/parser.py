"""The commands, their options and their exit codes: 0 all is well, 1 a problem was found, 2 the command line is wrong."""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from floe.cli.output import UsageError

_CONNECTORS = "a connector file, a folder of them, or a connector's name"
_FOLDER = "where connectors are looked up by name (FLOE_CONNECTORS_DIR, else connectors in Airflow's DAGs folder)"
_EXIT = "Exit code: 0 all is well, 1 a problem was found, 2 the command line is wrong."
_MIN_SECONDS, _MAX_SECONDS = 1.0, 86_400.0

BROKEN_PIPE, INTERRUPTED = 141, 130
"""Exit codes as a shell has them for a program that SIGPIPE or Ctrl-C ended: the result is not known."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    _make_printable()
    options = _parser().parse_args(arguments)
    try:
        with _quiet():
            code: int = importlib.import_module(f"floe.cli.{options.command}").run(options)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "floe":
            raise
        missing = f"this Python has no {error.name}"
        print(f"error: {options.command} needs what airflow-provider-floe requires, and {missing}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # what reads this output has ended: what is still to be written goes nowhere, also when Python itself ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    return code


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what clients log and warn of: findings and problems have it, and Airflow would log to the output."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m floe", description="Check, diagnose and watch connectors of floe.", epilog=_EXIT
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    check = commands.add_parser(
        "check", **_texts("validate connector files by Python alone, without asking any server")
    )
    check.add_argument("connectors", metavar="FILE|FOLDER", nargs="+", type=Path, help="connector files, or folders")
    check.add_argument("--strict", action="store_true", help="a warning about a file is an error")
    check.add_argument("--connect", action="store_true", help="then diagnose them read-only, as doctor does")
    doctor = commands.add_parser(
        "doctor", **_texts("find out what is wrong around a connector: brokers, catalog, Spark, clocks …")
    )
    doctor.add_argument("connectors", metavar="CONNECTOR", nargs="+", help=_CONNECTORS)
    mode = doctor.add_mutually_exclusive_group()
    mode.add_argument(
        "--write-probe",
        dest="write",
        action="store_true",
        default=True,
        help="try writing, too (default): an aborted transaction, a probe table, a file in the warehouse; all are removed",
    )
    mode.add_argument("--read-only", dest="write", action="store_false", help="write nothing")
    doctor.add_argument("--quiet", action="store_true", help="show warnings and problems only")
    status = commands.add_parser(
        "status", **_texts("show lag, last commits and problems, as Kafka and the tables have them now")
    )
    status.add_argument("connectors", metavar="CONNECTOR", nargs="*", help=f"{_CONNECTORS}; all unless given")
    status.add_argument("--dead-letters", action="store_true", help="count open dead letters, which reads their table")
    status.add_argument("--commits", type=_count, default=1, metavar="N", help="show the last N commits of a table (1)")
    status.add_argument("--watch", type=_seconds, metavar="SECONDS", help="show it again and again, until Ctrl-C")
    query = commands.add_parser(
        "query",
        **_texts("read the tables of a connector's catalog by Spark SQL, or by lines of PySpark; it only reads"),
    )
    query.add_argument(
        "sql",
        metavar="SQL",
        nargs="?",
        default="",
        help="a statement; without one lines of PySpark are read, or asked for",
    )
    query.add_argument(
        "--connector", metavar="CONNECTOR", help="whose catalog: a connector file, or a connector's name (the only one)"
    )
    query.add_argument(
        "--jars",
        metavar="FILE|FOLDER",
        action="append",
        type=Path,
        default=[],
        help="jars of Iceberg and drivers, beside those of Spark's own jobs; may be given again",
    )
    for command in (doctor, status, query):
        command.add_argument("--connectors", dest="folder", type=Path, metavar="FOLDER", help=_FOLDER)
    keys = commands.add_parser("keys", **_texts("search the configuration keys: type, default, class, meaning"))
    keys.add_argument(
        "pattern", metavar="PATTERN", nargs="?", default="", help="a part of a name or of a meaning, or a glob"
    )
    for command in (check, doctor, status, keys, query):
        command.add_argument("--json", action="store_true", help="print JSON, for programs")
    return parser


def _texts(text: str) -> dict[str, Any]:
    return {"help": text, "description": f"{text[0].upper()}{text[1:]}.", "epilog": _EXIT}


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and len(text) < 7 else 0
    if number < 1:
        msg = f"{text[:100]!r} is no number from 1 to 999999"
        raise argparse.ArgumentTypeError(msg)
    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not _MIN_SECONDS <= seconds < _MAX_SECONDS:
        msg = f"{text[:100]!r} is no number of seconds from {_MIN_SECONDS:g} to {_MAX_SECONDS:g}"
        raise argparse.ArgumentTypeError(msg)
    return seconds


def _make_printable() -> None:
    """Let a terminal that lacks a character show its escape, and no error."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
