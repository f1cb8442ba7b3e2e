"""A schema registry: Apicurio 2.6, with Confluent's API beside its own, as a process of its own."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import tarfile
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import ClassVar

from stack import jars
from stack.exceptions import DownloadFailed
from stack.java import java
from stack.services.recorded_service import RecordedService
from stack.settings import LOOPBACK, REGISTRY_PORT, require_free

VERSION = "2.6.13.Final"
PACKAGE = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
SHA256 = "3cda1b34aa020fb4ac4dd6a66018d757e81e437f97e20a1f92d366b70091c6ba"
RUNNER = f"apicurio-registry-app-{VERSION}-runner.jar"
CONFLUENT_API = "/apis/ccompat/v7"


class SchemaRegistry(RecordedService):
    """A registry whose log and record are in ``folder``.

    ``keeps``: its schemas are in a database there, else in memory, and gone when it ends.
    """

    name: ClassVar[str] = "schema registry"

    def __init__(
        self, folder: Path, port: int, jar_cache: Path = jars.CACHE, heap: str = "384m", *, keeps: bool = False
    ) -> None:
        super().__init__(folder, port)
        self._jar_cache = jar_cache
        self._heap = heap
        self._keeps = keeps

    @property
    def url(self) -> str:
        """The server's address: what `apicurio.registry.url` is set to."""
        return f"http://{self.address}"

    @property
    def confluent_url(self) -> str:
        """The address of Confluent's API: what `schema.registry.url` is set to."""
        return f"{self.url}{CONFLUENT_API}"

    def start(self) -> None:
        """Start it and wait until it answers; harmless if it runs. Raises PortTaken, DownloadFailed, StartFailed."""
        if self.running:
            return
        require_free(self.port, REGISTRY_PORT)
        self.folder.mkdir(parents=True, exist_ok=True)
        options = [f"-Xmx{self._heap}", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options += [f"-Dquarkus.http.host={LOOPBACK}", f"-Dquarkus.http.port={self.port}"]
        if self._keeps:
            options.append(f"-Dquarkus.datasource.jdbc.url=jdbc:h2:file:{self.folder / 'schemas'}")
        self._launch([java(), *options, "-jar", str(installed(self._jar_cache) / RUNNER)], self._answers)

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
