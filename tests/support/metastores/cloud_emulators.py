"""Emulators of Azure's and Google's stores on loopback: Azurite, which checks logins, and fake-gcs-server, which does not."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import urllib.request
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from pyarrow.fs import AzureFileSystem, FileSystem, GcsFileSystem

from stack.settings import LOOPBACK, free_port
from tests.support.metastores.server import ServerProcess, answers_at
from tests.support.metastores.tools import go_program, npm_package

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, as its documentation names them."""

READY_WITHIN = 120.0


class Azurite:
    """An account of Azure's store, on a folder; ``url``: its address."""

    VERSION = "3.35.0"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._process = ServerProcess("Azurite", folder / "azurite.log")
        self.url = f"http://{LOOPBACK}:{self._port}"

    def start(self) -> None:
        """Start it and wait until it answers. Raises Unsuitable, DownloadFailed, StartFailed."""
        program = npm_package("azurite", self.VERSION) / "azurite-blob"
        command = [str(program), "--silent", "--loose", "--skipApiVersionCheck", "--disableTelemetry"]
        command += ["--blobHost", LOOPBACK, "--blobPort", str(self._port), "--location", str(self._folder / "files")]
        self._process.start(command, self._accepts, READY_WITHIN)

    def stop(self) -> None:
        """End it."""
        self._process.stop()

    def files(self) -> FileSystem:
        """Return Arrow's file system with the account's key."""
        address = self.url.partition("://")[2]
        where = {"blob_storage_authority": address, "dfs_storage_authority": address}
        scheme = {"blob_storage_scheme": "http", "dfs_storage_scheme": "http"}
        return AzureFileSystem(ACCOUNT, account_key=KEY, **where, **scheme)

    def remove(self, container: str) -> None:
        """Remove a container with all that is in it."""
        self.files().delete_dir(container)

    def _accepts(self) -> bool:
        with suppress(OSError), socket.create_connection((LOOPBACK, self._port), 1):
            return True
        return False


def account_sas(permissions: str = "rwdlacup", expires: str = "2099-01-01T00:00:00Z") -> str:
    """Return a SAS token of Azurite's account, signed as Azure documents it: containers and objects of the blob service."""
    version, services, kinds, protocol = "2019-12-12", "b", "sco", "https,http"
    lines = [ACCOUNT, permissions, services, kinds, "", expires, "", protocol, version, ""]
    digest = hmac.new(base64.b64decode(KEY), "\n".join(lines).encode(), hashlib.sha256).digest()
    signature = quote(base64.b64encode(digest).decode(), safe="")
    return f"sv={version}&ss={services}&srt={kinds}&sp={permissions}&se={quote(expires)}&spr={protocol}&sig={signature}"


class FakeGcs:
    """Google's store, in memory; ``url``: its address. It asks for no login."""

    MODULE, VERSION = "github.com/fsouza/fake-gcs-server", "v1.52.2"

    def __init__(self, folder: Path) -> None:
        self._port = free_port()
        self._process = ServerProcess("fake-gcs-server", folder / "gcs.log")
        self.url = f"http://{LOOPBACK}:{self._port}"

    def start(self) -> None:
        """Start it and wait until it answers. Raises Unsuitable, DownloadFailed, StartFailed."""
        program = go_program(self.MODULE, self.VERSION)
        command = [str(program), "-scheme", "http", "-host", LOOPBACK, "-port", str(self._port), "-backend", "memory"]
        self._process.start(command, lambda: answers_at(f"{self.url}/_internal/healthcheck"), READY_WITHIN)

    def stop(self) -> None:
        """End it."""
        self._process.stop()

    def files(self) -> FileSystem:
        """Return Arrow's file system."""
        address = self.url.partition("://")[2]
        return GcsFileSystem(anonymous=True, scheme="http", endpoint_override=address, project_id="floe")

    def remove(self, bucket: str) -> None:
        """Remove an empty bucket, which Arrow's client does not."""
        request = urllib.request.Request(f"{self.url}/storage/v1/b/{bucket}", method="DELETE")  # noqa: S310 - loopback
        urllib.request.urlopen(request, timeout=10).close()  # noqa: S310 - loopback
