"""An S3 store in memory: moto's server, with the bucket of the warehouse. What it holds is gone when it ends."""

from __future__ import annotations

import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from stack.exceptions import Unsuitable
from stack.services.recorded_service import RecordedService
from stack.settings import S3_PORT, require_free

BUCKET = "warehouse"
REGION = "us-east-1"
# moto takes any: they are no secrets, yet as long as floe wants secrets to be, which it hides in messages
ACCESS_KEY = "floe-demo-user"
SECRET_KEY = "floe-demo-secret"  # noqa: S105 - see above

# 127.0.0.1 is asked directly, whatever proxy the environment names
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class ObjectStore(RecordedService):
    """A store with one bucket, whose log and record are in ``folder``."""

    name: ClassVar[str] = "S3 store"

    def __init__(self, folder: Path, port: int) -> None:
        super().__init__(folder, port)
        self.url = f"http://{self.address}"

    @property
    def properties(self) -> dict[str, str]:
        """What a catalog of PyIceberg needs to have its tables here."""
        return {
            "warehouse": f"s3://{BUCKET}/tables",
            "s3.endpoint": self.url,
            "s3.region": REGION,
            "s3.access-key-id": ACCESS_KEY,
            "s3.secret-access-key": SECRET_KEY,
        }

    def start(self) -> None:
        """Start it and wait until it has the bucket; harmless if it runs. Raises Unsuitable, PortTaken, StartFailed."""
        if self.running:
            return
        if find_spec("moto") is None:
            message = "moto, the S3 store of STORE=s3, is not installed here: run `make setup STORE=s3`"
            raise Unsuitable(message)
        require_free(self.port, S3_PORT)
        self.folder.mkdir(parents=True, exist_ok=True)
        host, port = self.address.split(":")
        self._launch([sys.executable, "-m", "moto.server", "-H", host, "-p", port], self._makes_its_bucket)

    def _makes_its_bucket(self) -> bool:
        request = urllib.request.Request(f"{self.url}/{BUCKET}", method="PUT")  # noqa: S310 - on loopback
        try:
            with _OPENER.open(request, timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
