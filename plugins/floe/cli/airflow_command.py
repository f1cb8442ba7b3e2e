"""floe's command line as a group of Airflow's: ``airflow floe check …``, with Airflow's connections and settings."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any


def commands() -> list[Any]:
    """Return the commands that Airflow's command line adds."""
    from airflow.cli.cli_config import ActionCommand, Arg

    what = "a command of floe and what it takes, as in: check --help"
    given = Arg(("arguments",), nargs=argparse.REMAINDER, help=what)  # type: ignore[no-untyped-call]
    return [ActionCommand(name="floe", help="Check, diagnose and look up connectors of floe", func=run, args=(given,))]


def run(options: argparse.Namespace) -> None:
    """Run a command of floe and end with its exit code."""
    from floe.airflow_settings import connectors_of_airflow, use_airflow_settings
    from floe.cli.parser import main

    use_airflow_settings()
    os.environ.setdefault("FLOE_CONNECTORS_DIR", str(connectors_of_airflow()))
    sys.exit(main(options.arguments or ["--help"]))
