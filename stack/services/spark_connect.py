"""A Spark Connect server of its own, on loopback."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

from stack.exceptions import StartFailed
from stack.progress import wait_until
from stack.settings import REPOSITORY

READY_WITHIN = 600.0
TOKEN = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - its name
DAEMON = "floe_warm_daemon"
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


class ConnectServer:
    """Starts and stops a server at ``127.0.0.1:port``.

    ``warm``: its Python workers are forked from floe's daemon, installed as deploy/spark/Dockerfile does. ``token``: what its
    clients have to send; without one it serves everybody on this machine. ``tree``: whose daemon it is.
    """

    def __init__(
        self, folder: Path, port: int, *, warm: bool = False, token: str = "", tree: Path = REPOSITORY
    ) -> None:
        self.port = port
        self._tree = tree
        self._token = token
        self._warm = warm
        self._log = folder / f"connect-{port}.log"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The server's process, whose children are its Python workers. Raises StartFailed if it was not started."""
        if self._process is None:
            message = f"the Spark Connect server at port {self.port} was not started"
            raise StartFailed(message)
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it listens. Raises StartFailed."""
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        # the workers must get floe from the session alone, as on a cluster
        environment.pop("PYTHONPATH", None)
        if self._token:
            environment[TOKEN] = self._token  # of a process, only its own user reads the environment
        if self._warm:
            environment["PYTHONPATH"] = str(self._lay_down_daemon())
        command = [
            str(Path(sys.executable).parent / "spark-submit"),
            *("--master", "local[2]", "--class", SERVER, "--name", "floe-connect"),
            *("--conf", f"spark.connect.grpc.binding.port={self.port}"),
            *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
            *("--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.host=127.0.0.1"),
            *("--conf", "spark.authenticate=true"),
            *("--conf", f"spark.sql.warehouse.dir={self._folder / 'spark-warehouse'}"),
            *(("--conf", f"spark.python.daemon.module={DAEMON}") if self._warm else ()),
            "spark-internal",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=self._folder
            )
        if not wait_until(self._listens, READY_WITHIN):
            self.stop()
            message = (
                f"the Spark Connect server did not listen within {READY_WITHIN:.0f} s: {self._log.read_text()[-3000:]}"
            )
            raise StartFailed(message)

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

    def _lay_down_daemon(self) -> Path:
        folder = self._folder / "daemon"
        folder.mkdir(exist_ok=True)
        job = self._tree / "spark_jobs" / "floe_job"
        # the first versions of floe had it elsewhere
        places = (job / "runtime" / "worker_daemon.py", job / "daemon.py")
        shutil.copy(next(place for place in places if place.exists()), folder / f"{DAEMON}.py")
        return folder

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0
