"""Glue and S3 as moto imitates them, on loopback: a mock, as AWS cannot be run here. Glue's check of versions is ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import boto3

from tests.support.metastores.server import ServerProcess, answers_at

SERVER = Path(__file__).with_name("glue_server.py")
READY_WITHIN = 120.0
REGION, KEY, SECRET = "us-east-1", "test", "moto-secret-of-the-tests"
BUCKET = "lake"


class Moto:
    """Starts and stops the server; ``uri`` is the address of all its services."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._process = ServerProcess("moto", folder / "moto.log")

    @property
    def uri(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, wait until it answers, and create the bucket. Raises StartFailed."""
        command = [sys.executable, str(SERVER), "-H", "127.0.0.1", "-p", str(self.port)]
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        self._process.start(command, lambda: answers_at(f"{self.uri}/moto-api/"), READY_WITHIN, environment)
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
        self._process.stop()
