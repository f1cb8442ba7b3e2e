"""An S3 store on loopback: moto's server, with what is in it in its memory. It checks no credentials."""

from __future__ import annotations

import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from stack.exceptions import StartFailed
from stack.progress import wait_until
from stack.settings import LOOPBACK

READY_WITHIN = 60.0
REGION = "eu-west-1"


class ObjectStore:
    """Starts and stops the server; ``endpoint`` is its address. ``folder``: of its log."""

    def __init__(self, folder: Path, port: int) -> None:
        self._port = port
        self._log = folder / "object-store.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        """The server's address."""
        return f"http://{LOOPBACK}:{self._port}"

    def start(self) -> None:
        """Start it and wait until it answers. Raises StartFailed."""
        with self._log.open("wb") as log:
            command = [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(self._port)]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        process = self._process
        if not wait_until(lambda: process.poll() is not None or self._answers(), READY_WITHIN) or process.poll():
            self.stop()
            message = f"the object store ended or does not answer: {self._log.read_text(errors='replace')[-2000:]}"
            raise StartFailed(message)

    def stop(self) -> None:
        """End it; what was in it is gone."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.endpoint}/moto-api/data.json", timeout=2) as answer:  # noqa: S310 - http, on loopback
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
