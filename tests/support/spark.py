"""A Spark standalone cluster of its own on loopback: a master and its workers, each a process."""

from __future__ import annotations

import os
import signal
import subprocess
import urllib.request
from pathlib import Path

import psutil

from stack.java import spark_jar
from stack.progress import wait_until
from stack.settings import free_port

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
EXECUTOR = "CoarseGrainedExecutorBackend"


class SparkCluster:
    """Starts and stops a master and ``count`` workers of one core each; ``port`` is the master's."""

    def __init__(self, folder: Path, count: int = 2) -> None:
        self.port = free_port()
        self._pages = free_port()
        self._folder = folder
        self._count = count
        self._master: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start all, and wait until every worker has reported to the master; stopped again if that fails."""
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        here = ["--host", "127.0.0.1"]
        self._master = self._run("master", MASTER, *here, "--port", self.port, "--webui-port", self._pages)
        for i in range(self._count):
            work = ["--work-dir", self.work(i), "--cores", 1, "--memory", "1g", "--webui-port", free_port()]
            self.workers.append(self._run(f"worker-{i}", WORKER, *here, *work, f"spark://127.0.0.1:{self.port}"))
        assert wait_until(lambda: self._page().count('"ALIVE"') == self._count + 1, 90), self._page()

    def stop(self) -> None:
        """End all of them, and what they started."""
        for process in filter(None, [*self.workers, self._master]):
            family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.send_signal(signal.SIGTERM)
            for one in family:
                if one.is_running():
                    one.kill()
            process.wait(20)

    def work(self, worker: int) -> Path:
        """Return the folder in which a worker keeps a folder for each executor."""
        return self._folder / f"work-{worker}"

    def executor(self, worker: int) -> psutil.Process | None:
        """Return a worker's executor, if it has one."""
        return next((one for one in self._children(worker) if any(EXECUTOR in part for part in _command(one))), None)

    def pythons(self, worker: int) -> list[list[str]]:
        """Return the command lines of the Python processes that run tasks below a worker; one that just ended has none."""
        daemons = [one for one in self._children(worker) if "pyspark.daemon" in _command(one)]
        workers = (one for one in daemons if _parent(one) in {daemon.pid for daemon in daemons})
        return [command for one in workers if (command := _command(one))]

    def _children(self, worker: int) -> list[psutil.Process]:
        try:
            return psutil.Process(self.workers[worker].pid).children(recursive=True)
        except psutil.NoSuchProcess:
            return []

    def _run(self, name: str, *command: object) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_JAVA_OPTS": QUICK}
        # executors must get floe from the job alone
        environment.pop("PYTHONPATH", None)
        environment["SPARK_HOME"] = str(spark_jar("scala-library").parents[1])
        program = f"{environment['SPARK_HOME']}/bin/spark-class"
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen([program, *map(str, command)], env=environment, stdout=log, stderr=log)

    def _page(self) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._pages}/json/", timeout=5) as page:
                return str(page.read().decode()).replace(" ", "").replace('"status":', "")
        except OSError:
            return ""


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _parent(process: psutil.Process) -> int | None:
    try:
        return process.ppid()
    except psutil.Error:
        return None
