"""Glue and S3 as moto imitates them, on loopback: a mock, as AWS cannot be run here. Glue's check of versions is ours."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import boto3

from stack.exceptions import StartFailed
from stack.progress import wait_until

SERVER = Path(__file__).with_name("glue_server.py")
READY_WITHIN = 60.0
REGION, KEY, SECRET = "us-east-1", "test", "moto-secret-of-the-tests"
BUCKET = "lake"


class Moto:
    """Starts and stops the server; ``uri`` is the address of all its services."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self.port = port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def uri(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, wait until it answers, and create the bucket. Raises StartFailed."""
        log = self._folder / "moto.log"
        with log.open("wb") as output:
            command = [sys.executable, str(SERVER), "-H", "127.0.0.1", "-p", str(self.port)]
            environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
            self._process = subprocess.Popen(command, stdout=output, stderr=output, env=environment)
        process = self._process
        is_up = wait_until(lambda: process.poll() is not None or self._answers(), READY_WITHIN)
        if not is_up or process.poll() is not None:
            self.stop()
            message = f"moto ended or does not answer: {log.read_text(errors='replace')[-3000:]}"
            raise StartFailed(message)
        self.client("s3").create_bucket(Bucket=BUCKET)

    def client(self, service: str) -> boto3.client:
        """Return a client of one of its services."""
        return boto3.client(
            service,
            endpoint_url=self.uri,
            region_name=REGION,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
        )

    def stop(self) -> None:
        """End it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(10)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.uri}/moto-api/", timeout=2) as answer:  # noqa: S310 - on loopback
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False
