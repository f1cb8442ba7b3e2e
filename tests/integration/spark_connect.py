"""A Spark Connect server of its own, on loopback."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from stack.progress import wait_until

SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer:
    """Starts and stops the server; ``address`` is ``127.0.0.1:port``."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._log = folder / f"connect-{port}.log"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it listens."""
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        # the workers must get floe from the session alone, as on a cluster
        environment.pop("PYTHONPATH", None)
        command = [
            str(Path(sys.executable).parent / "spark-submit"),
            *("--master", "local[2]", "--class", SERVER, "--name", "floe-connect"),
            *("--conf", f"spark.connect.grpc.binding.port={self.port}"),
            *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
            *("--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.host=127.0.0.1"),
            *("--conf", f"spark.sql.warehouse.dir={self._folder / 'spark-warehouse'}"),
            "spark-internal",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=self._folder
            )
        assert wait_until(self._listens, 90), self._log.read_text()[-3000:]

    def stop(self) -> None:
        """End it and its Python workers."""
        if self._process is None:
            return
        os.killpg(self._process.pid, signal.SIGTERM)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(20)
        self._process = None

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
