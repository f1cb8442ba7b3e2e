"""``python -m stack.floe_command doctor …``: floe's command line, with the connections of the local Airflow if it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from stack.exceptions import StackError
from stack.local import Local


def environment(local: Local) -> dict[str, str]:
    """Return the environment of the local Airflow, or without one this process's, with the folder of the connectors."""
    own = local.airflow.environment() if local.airflow.running else dict(os.environ)
    return {"FLOE_CONNECTORS_DIR": str(local.connectors), **own}


def main(arguments: Sequence[str] | None = None) -> None:
    """Become floe's command line."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        local = Local.of(os.environ)
    except StackError as error:
        sys.exit(f"error: {error}")
    os.execve(sys.executable, [sys.executable, "-m", "floe", *given], environment(local))  # noqa: S606 - no shell


if __name__ == "__main__":
    main()
