"""A schema registry: Apicurio 2.6, in memory, with Confluent's API beside its own, as a process of its own."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

from stack import jars, processes
from stack.exceptions import DownloadFailed, StartFailed
from stack.java import java
from stack.progress import wait_until
from stack.settings import LOOPBACK, require_free

VERSION = "2.6.13.Final"
PACKAGE = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
SHA256 = "3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba"
RUNNER = f"apicurio-registry-app-{VERSION}-runner.jar"
PORT = "SCHEMA_REGISTRY_PORT"
READY_WITHIN = 60.0
STOPPED_WITHIN = 20.0


class SchemaRegistry:
    """A registry whose log and record are in `folder`; its schemas are gone when it ends."""

    def __init__(self, folder: Path, port: int, jar_cache: Path = jars.CACHE, heap: str = "384m") -> None:
        self.folder = folder.absolute()
        self.port = port
        self.log = self.folder / "schema-registry.log"
        self.record = self.folder / "schema-registry.json"
        self._jar_cache = jar_cache
        self._heap = heap

    @property
    def url(self) -> str:
        """The server's address: what `apicurio.registry.url` is set to."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def confluent_url(self) -> str:
        """The address of Confluent's API: what `schema.registry.url` is set to."""
        return f"{self.url}/apis/ccompat/v7"

    @property
    def process(self) -> processes.Process | None:
        """The server's process as recorded, running or not; None if it was never started."""
        return processes.load(self.record)

    @property
    def running(self) -> bool:
        """Whether the server's process runs."""
        process = self.process
        return process is not None and processes.alive(process)

    def start(self) -> None:
        """Start it and wait until it answers; harmless if it runs. Raises PortTaken, DownloadFailed, StartFailed."""
        if self.running:
            return
        require_free(self.port, PORT)
        self.folder.mkdir(parents=True, exist_ok=True)
        options = [f"-Xmx{self._heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options += [f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self.port}"]
        command = [java(), *options, "-jar", str(installed(self._jar_cache) / RUNNER)]
        process = processes.start_recorded(command, os.environ, self.log, self.folder, self.record)
        try:
            self._wait_until_ready(process)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it by SIGTERM and wait; by SIGKILL if it does not end. Harmless if it does not run."""
        process = self.process
        if process is not None:
            processes.stop(process, signal.SIGTERM, STOPPED_WITHIN)
            self.record.unlink(missing_ok=True)

    def _wait_until_ready(self, process: processes.Process) -> None:
        is_ready = wait_until(lambda: not processes.alive(process) or self._answers(), READY_WITHIN)
        if not (is_ready and processes.alive(process)):
            tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
            message = f"the schema registry ended or does not answer; the end of {self.log}:\n{tail}"
            raise StartFailed(message)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health/ready", timeout=2) as answer:  # noqa: S310 - on loopback
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def installed(jar_cache: Path = jars.CACHE) -> Path:
    """Return the folder with the server, fetched and unpacked once. Raises DownloadFailed."""
    folder = jar_cache / f"apicurio-registry-{VERSION}"
    if not folder.is_dir():
        jar_cache.mkdir(parents=True, exist_ok=True)
        # not the lock of the jars, which is taken while they are fetched
        with (jar_cache / "registry.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                _unpack(folder, jar_cache)
    return folder


def _unpack(folder: Path, jar_cache: Path) -> None:
    (archive,) = jars.resolve((PACKAGE,), jar_cache, transitive=False)
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        shutil.rmtree(archive.parent)
        message = f"{archive.name} has the SHA-256 {digest}, not {SHA256}. It was deleted; run it again."
        raise DownloadFailed(message)
    with tempfile.TemporaryDirectory(dir=jar_cache, prefix="unpacking-") as name:
        with tarfile.open(archive) as packed:
            packed.extractall(Path(name, "all"), filter="data")
        Path(name, "all").rename(folder)
    shutil.rmtree(archive.parent)
