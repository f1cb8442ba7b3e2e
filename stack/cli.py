"""The commands: `python -m stack up | down | status | demo | query | clean`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from stack import demo
from stack.exceptions import RunFailed, StackError
from stack.java import require_java
from stack.local import Local
from stack.progress import say, step

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal requested this command to stop."""


def up(local: Local) -> None:
    """Start the stack with the demo's records in a first run, and leave it running."""
    with local.held():
        if local.settings.registry and local.airflow.running and not local.registry.running:
            message = "the stack is running without a schema registry: run `make down`, then `make up REGISTRY=1`"
            raise StackError(message)
        local.require_its_settings(os.environ)
        local.require_its_store()
        local.require_empty()
        if local.complete and _has_its_records(local) and not _has_lost_them(local):
            say("The stack is running already.")
        else:
            require_java()
            _start_for_up(local)
        local.interrupted.unlink(missing_ok=True)
    local.describe()
    table = "<namespace>.<table>" if local.is_empty else demo.Demo.of(local).table
    say(f'\n`make query SQL="select * from {table} limit 5"` shows rows; `make down` stops it.')  # noqa: S608 - text


def run_demo(local: Local) -> None:
    """Run the demo on fresh data, then stop everything."""
    require_java()
    with local.held():
        if local.running and not local.interrupted.exists():
            message = "the stack is running (`make up`), and the demo wants fresh data: run `make down` first"
            raise StackError(message)
        if local.is_filled and not local.interrupted.exists():
            message = (
                f"the stack in {local.settings.state} has the data of `make up`, and the demo wants fresh data: remove "
            )
            message += "it by `make clean`, or name another folder, as in `make demo FLOE_STATE=/tmp/floe-demo`"
            raise StackError(message)
        local.stop()
        local.wipe()
        local.interrupted.touch()
        started = time.monotonic()
        try:
            local.start()
            say(f"The stack is up after {time.monotonic() - started:.0f} s.")
            demo.fill(local)
            demo.add(local)
        finally:
            _deaf()
            local.stop()
            local.interrupted.unlink(missing_ok=True)
            # The data of a demo can be inspected, but `up` starts with fresh data.
            local.forget_fills()
    say(f"Done in {time.monotonic() - started:.0f} s; everything is stopped. `make up` leaves it running.")


def down(local: Local) -> None:
    """Stop the stack, and the command that may be at work on it."""
    local.end_owner()
    with local.held():
        _deaf()
        local.stop()
        local.interrupted.unlink(missing_ok=True)
    say("The stack is down.")


def status(local: Local) -> None:
    """Print what runs and where."""
    local.describe()


def query(local: Local, sql: str, connector: Path | None) -> None:
    """Print the rows of a statement in SQL, or prompt for lines of PySpark."""
    with step("floe's own modules"):
        # floe and pyspark are needed by this command alone
        from stack.spark.query import query as run

    signal.signal(signal.SIGINT, signal.default_int_handler)  # Spark's own ends the statement, and not the prompt
    require_java()
    try:
        run(local, sql, connector)
    except KeyboardInterrupt as error:
        raise Interrupted(signal.SIGINT.name) from error


def clean(local: Local) -> None:
    """Stop the stack and remove its data; the downloaded jars are kept."""
    down(local)
    with local.held():
        local.wipe()


COMMANDS: dict[str, Callable[[Local], None]] = {
    "up": up,
    "down": down,
    "status": status,
    "demo": run_demo,
    "clean": clean,
}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns its exit code: 0, 1 for an error that was printed, 130 after a signal."""
    parser = argparse.ArgumentParser(prog="python -m stack", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in COMMANDS:
        commands.add_parser(name)
    asked = commands.add_parser("query", help=query.__doc__)
    asked.add_argument("sql", nargs="?", default="", help="a statement; without one lines of Python come from stdin")
    asked.add_argument("--connector", type=Path, help="a file whose catalog is the default one")
    given = parser.parse_args(arguments)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    for signum in _SIGNALS:
        signal.signal(signum, _interrupt)
    try:
        local = Local.of(os.environ)
        if given.command == "query":
            query(local, given.sql, given.connector)
        else:
            COMMANDS[given.command](local)
    except StackError as error:
        say(f"error: {error}")
        return 1
    except Interrupted as error:
        say(f"interrupted by {error}; what this command started is stopped.")
        return 130
    return 0


def _has_its_records(local: Local) -> bool:
    """Say whether the first records are in; an empty stack has none to wait for."""
    return (local.empty_mark if local.is_empty else demo.Demo.of(local).filled).exists()


def _has_lost_them(local: Local) -> bool:
    """Say whether the demo's records are in their topic, and its table is gone with the store."""
    return local.has_store and not local.is_empty and not local.has_catalog


def _start_for_up(local: Local) -> None:
    running = local.running
    if not local.is_filled and not running:
        local.wipe()
    if local.forget_lost_tables():
        say("The S3 store has ended, and its tables with it. Topics, Airflow and its connectors are kept.")
    try:
        local.start()
        if local.is_empty:
            local.empty_mark.touch()
        elif not _has_its_records(local):
            demo.fill(local)
        else:
            say("The data of the last `make up` is kept; `make clean` removes it.")
            if _has_lost_them(local):
                demo.refill(local)
    except RunFailed as error:
        local.interrupted.unlink(missing_ok=True)
        local.describe()
        message = f"{error}\nThe stack stays up, so that you can look; `make down` stops it."
        raise StackError(message) from error
    except BaseException:
        _deaf()
        if not running:
            local.stop()
        raise


def _interrupt(signum: int, _: FrameType | None) -> None:
    raise Interrupted(signal.Signals(signum).name)


def _deaf() -> None:
    """Ignore further signals: stopping takes seconds, and must not be cut short."""
    for signum in _SIGNALS:
        signal.signal(signum, signal.SIG_IGN)


if __name__ == "__main__":
    sys.exit(main())
