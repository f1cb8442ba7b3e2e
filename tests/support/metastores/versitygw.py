"""versitygw, an S3 store over a folder, on loopback: it checks signatures, which moto does not. Built by Go, once."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

from stack.exceptions import DownloadFailed, Unsuitable
from stack.settings import LOOPBACK, REPOSITORY, free_port
from tests.support.metastores.server import ServerProcess, answers_at

MODULE, VERSION = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"
TOOLS = REPOSITORY / ".floe" / "tools"
READY_WITHIN = 30.0
_HEALTH = "/health"


def binary() -> Path:
    """Return the program, built where it is missing, which takes minutes. Raises Unsuitable, DownloadFailed."""
    folder = TOOLS / f"versitygw-{VERSION}"
    program = folder / "versitygw"
    if program.is_file():
        return program
    go = shutil.which("go")
    if go is None:
        message = f"no go on PATH: install Go to test on versitygw {VERSION}"
        raise Unsuitable(message)
    TOOLS.mkdir(parents=True, exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.is_file():
            made = TOOLS / "making"
            shutil.rmtree(made, ignore_errors=True)
            command = [go, "install", f"{MODULE}@{VERSION}"]
            done = subprocess.run(
                command, env={**os.environ, "GOBIN": str(made)}, capture_output=True, text=True, check=False
            )
            if done.returncode:
                message = f"versitygw {VERSION} could not be built: {done.stderr[-2000:]}"
                raise DownloadFailed(message)
            made.rename(folder)
    return program


class Versitygw:
    """Starts and stops the store; ``url``: its address. It knows one user, and takes no session tokens."""

    def __init__(self, folder: Path, access: str, secret: str) -> None:
        self._login = (access, secret)
        self._port = free_port()
        self._process = ServerProcess("versitygw", folder / "versitygw.log")
        self.url = f"http://{LOOPBACK}:{self._port}"
        self.files = folder / "store"
        """The folder of its buckets: an object is a file there."""

    def start(self) -> None:
        """Start it and wait until it answers. Raises Unsuitable, DownloadFailed, StartFailed."""
        program = binary()
        self.files.mkdir()
        access, secret = self._login
        options = ["--port", f"{LOOPBACK}:{self._port}", "--health", _HEALTH, "--region", "us-east-1"]
        environment = {**os.environ, "ROOT_ACCESS_KEY": access, "ROOT_SECRET_KEY": secret}
        command = [str(program), *options, "posix", str(self.files)]
        self._process.start(command, lambda: answers_at(self.url + _HEALTH), READY_WITHIN, environment)

    def stop(self) -> None:
        """End it."""
        self._process.stop()
