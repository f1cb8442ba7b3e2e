"""versitygw, an S3 store over a folder, on loopback: it checks signatures, which moto does not. Built by Go, once."""

from __future__ import annotations

import os
from pathlib import Path

from stack.settings import LOOPBACK, free_port
from tests.support.metastores.server import ServerProcess, answers_at
from tests.support.metastores.tools import go_program

MODULE, VERSION = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"
READY_WITHIN = 120.0
_HEALTH = "/health"


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
        program = go_program(MODULE, VERSION)
        self.files.mkdir()
        access, secret = self._login
        options = ["--port", f"{LOOPBACK}:{self._port}", "--health", _HEALTH, "--region", "us-east-1"]
        environment = {**os.environ, "ROOT_ACCESS_KEY": access, "ROOT_SECRET_KEY": secret}
        command = [str(program), *options, "posix", str(self.files)]
        self._process.start(command, lambda: answers_at(self.url + _HEALTH), READY_WITHIN, environment)

    def stop(self) -> None:
        """End it."""
        self._process.stop()
