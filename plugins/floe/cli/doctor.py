"""``doctor``: the diagnosis of connectors, a line for each finding, and what to do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from floe.cli.connectors import find_connectors
from floe.cli.output import has_symbols, print_json, print_line
from floe.config.check import counted
from floe.config.connector_files import ConnectorFile
from floe.config.secrets.mask import hide
from floe.doctor.check import Finding, Level
from floe.exceptions import with_code

_MARKS = {Level.OK: "✓", Level.NOT_CHECKED: "–", Level.WARNING: "!", Level.PROBLEM: "✗"}
_ASCII = {Level.OK: "ok", Level.NOT_CHECKED: "--", Level.WARNING: "!!", Level.PROBLEM: "XX"}
_QUIET = (Level.WARNING, Level.PROBLEM)
_NAME_WIDTH = 13
LOOK_UP_SECONDS = 25.0
"""For Airflow's connections and variables, whose database or secrets backend may not answer."""


def run(options: argparse.Namespace) -> int:
    """Diagnose the connectors; 1 where a problem was found. Raises UsageError."""
    files = find_connectors(options.connectors, options.folder)
    if not options.json:
        return print_all(files, write=options.write, is_quiet=options.quiet)
    found = [(file, list(findings)) for file, findings in diagnose_all(files, write=options.write)]
    print_json([{"connector": file.name, "findings": [one.to_json() for one in findings]} for file, findings in found])
    return int(any(one.is_problem for _, findings in found for one in findings))


def diagnose_all(files: Sequence[ConnectorFile], *, write: bool) -> Iterator[tuple[ConnectorFile, list[Finding]]]:
    """Yield each connector with all its findings."""
    for file in files:
        yield file, list(_findings(file, write=write))


def print_all(files: Sequence[ConnectorFile], *, write: bool, is_quiet: bool = False) -> int:
    """Print the findings of connectors as they are made; the exit code."""
    has_problem = False
    for file in files:
        print_line(f"connector {file.name}")
        levels = []
        for finding in _findings(file, write=write):
            levels.append(finding.level)
            if not is_quiet or finding.level in _QUIET:
                print_line(line_of(finding))
        counts = {level: levels.count(level) for level in Level}
        many = [counted(counts[level], level.value) for level in (Level.PROBLEM, Level.WARNING)]
        print_line(f"  {', '.join(many)}, {counts[Level.NOT_CHECKED]} not checked")
        has_problem |= counts[Level.PROBLEM] > 0
    return 1 if has_problem or not files else 0


def line_of(finding: Finding) -> str:
    """Write a finding as one line: its mark, its check, what was found, and after an arrow what to do."""
    marks, arrow = (_MARKS, "→") if has_symbols() else (_ASCII, "->")
    remedy = f" {arrow} {finding.remedy}" if finding.remedy else ""
    return f"  {marks[finding.level]} {finding.name.ljust(_NAME_WIDTH)} {finding.text}{remedy}"


def _findings(file: ConnectorFile, *, write: bool) -> Iterator[Finding]:
    if file.connector is None:
        error = file.error
        text = "the file contains no connector" if error is None else with_code(str(error), error.code)
        yield Finding("file", Level.PROBLEM, hide(text), "correct that file").cleaned()
        return
    yield Finding("file", Level.OK, f"{file.path} is a connector")
    from floe.cli.settings import look_up_within
    from floe.doctor.diagnosis import diagnose

    found = look_up_within(LOOK_UP_SECONDS, file.connector)
    yield from diagnose(
        found.connector,
        found.settings,
        write=write,
        spark=found.spark,
        unknown=found.unknown,
        unusable=found.unusable,
    )
