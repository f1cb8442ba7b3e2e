"""The virtual environment `.venv`: made by any Python that is new enough, skipped when nothing changed.

Runs before anything is installed, so it needs the standard library only: `python3 -m stack.venv [--dev]`.
With STORE=s3 in the environment it installs the packages of the local S3 store, too.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from stack.exceptions import StackError, Unsuitable
from stack.java import require_java
from stack.progress import say, step
from stack.settings import REPOSITORY, Settings

OLDEST = (3, 11)
FOLDER = REPOSITORY / ".venv"
PYTHON = FOLDER / "bin" / "python"
STAMP = FOLDER / "floe-setup.json"
CONSTRAINTS = REPOSITORY / "constraints.txt"
RUNTIME = (REPOSITORY / "requirements.txt",)
STORE = REPOSITORY / "requirements-dev-store.txt"
DEVELOPMENT = REPOSITORY / "requirements-dev.txt"
IMAGE = REPOSITORY / "deploy" / "airflow" / "requirements.txt"
PROJECT = REPOSITORY / "pyproject.toml"
VERSION = REPOSITORY / "plugins" / "floe" / "__init__.py"
COMPILED = ("dags", "plugins", "spark_jobs", "stack")


def set_up(development: bool = False, store: bool = False) -> None:
    """Install floe and what it requires into `.venv`, and compile floe's own files to bytecode.

    ``development``: what tests and linters need, too; ``store``: what the local S3 store needs, which is a part of it.
    Raises Unsuitable (this Python or Java is too old) and StackError (the installation failed).
    """
    require_python()
    require_java()
    stamp = _read_stamp()
    python = platform.python_version()
    kind = "development" if development else "store" if store else "runtime"
    prints = {
        "runtime": fingerprint([*RUNTIME]),
        "store": fingerprint([*RUNTIME, STORE]),
        "development": fingerprint([*sorted(REPOSITORY.glob("requirements*.txt")), IMAGE]),
    }
    if stamp.get("python") != python or not PYTHON.exists():
        with step(f"virtual environment of Python {python} in .venv"):
            _run([sys.executable, "-m", "venv", "--clear", str(FOLDER)], "install python3-venv, or set PYTHON")
        stamp = {"python": python}
    if stamp.get(kind) != prints[kind]:
        files = {"runtime": RUNTIME, "store": (*RUNTIME, STORE), "development": (DEVELOPMENT,)}[kind]
        with step(f"install {', '.join(file.name for file in files)} (some minutes the first time)"):
            pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
            asked = [word for file in files for word in ("-r", str(file))]
            _run([*pip, *asked, "-c", str(CONSTRAINTS)], "check the network, then run it again")
        # each of them contains those before it
        stamp |= dict(list(prints.items())[: list(prints).index(kind) + 1])
        STAMP.write_text(json.dumps(stamp, indent=1))
    # Bytecode halves the start of every Spark job; files that did not change are skipped.
    folders = [str(REPOSITORY / name) for name in COMPILED if (REPOSITORY / name).is_dir()]
    _run([str(PYTHON), "-m", "compileall", "-q", *folders], "correct the file that does not compile")


def require_python() -> None:
    """Raise Unsuitable if this Python is older than floe needs."""
    if sys.version_info < OLDEST:
        needed = ".".join(map(str, OLDEST))
        message = f"{sys.executable} is Python {platform.python_version()}: floe needs {needed} or newer; "
        message += f"name one, as in `make PYTHON=python{needed} demo`"
        raise Unsuitable(message)


def fingerprint(files: list[Path]) -> str:
    """Return a hash of what the environment is made from: requirements, constraints, and floe's own metadata."""
    import tomllib  # not above: an old Python is told so first

    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    metadata = json.dumps([project["build-system"], project["project"], project["tool"]["hatch"]], sort_keys=True)
    digest = hashlib.sha256(metadata.encode())
    for file in [*files, CONSTRAINTS, VERSION]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _read_stamp() -> dict[str, str]:
    try:
        found: dict[str, str] = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return {}
    return found


def _run(command: list[str], remedy: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(command, check=False, env=environment, cwd=REPOSITORY)
    if done.returncode != 0:
        message = f"`{' '.join(command[1:4])} …` failed with {done.returncode}: {remedy}"
        raise StackError(message)


def main() -> int:
    """Set up from the command line."""
    try:
        set_up(development="--dev" in sys.argv[1:], store=Settings.read(os.environ).on_s3)
    except StackError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted: run it again, it continues where it stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
