"""``check``: connector files, validated; with ``--connect`` diagnosed, too."""

from __future__ import annotations

import argparse

from floe.cli.output import print_json
from floe.config.check import check, exit_code, file_json, read_connectors
from floe.config.exceptions import ConfigError


def run(options: argparse.Namespace) -> int:
    """Validate the files; the exit code."""
    if options.connect:
        from floe.cli.doctor import diagnose_all, print_all
    if not options.json:
        code = check(options.connectors, is_strict=options.strict)
        if options.connect:
            code = max(code, print_all(read_connectors(options.connectors), write=False))
        return code
    try:
        files = read_connectors(options.connectors)
    except ConfigError as error:
        print_json([{"ok": False, "problems": list(error.problems)}])
        return 1
    code = exit_code(files, is_strict=options.strict)
    found = [file_json(file, is_strict=options.strict) for file in files]
    if options.connect:
        for one, (_, findings) in zip(found, diagnose_all(files, write=False), strict=True):
            one["findings"] = [finding.to_json() for finding in findings]
            if any(finding.is_problem for finding in findings):
                one["ok"], code = False, 1
    print_json(found or [{"ok": False, "problems": ["no connector files"]}])
    return code
