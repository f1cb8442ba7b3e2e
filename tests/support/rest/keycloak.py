"""Keycloak, a real OAuth2 server, on loopback with its data in a folder; one client that logs in by its secret."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jwt

from stack import jars
from stack.exceptions import StartFailed
from stack.progress import wait_until
from stack.settings import LOOPBACK, free_port

PACKAGE = "org.keycloak:keycloak-quarkus-dist:26.7.3:zip:-"
READY_WITHIN = 240.0
ADMIN = "admin-of-the-test"
CLIENT_ID, CLIENT_SECRET = "floe", "client-secret-of-keycloak"


class Keycloak:
    """The server; ``lifetime``: of the client's tokens, in seconds."""

    def __init__(self, folder: Path, lifetime: int) -> None:
        self._folder = folder
        self._lifetime = lifetime
        self._port, self._management = free_port(), free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def realm(self) -> str:
        return f"http://{LOOPBACK}:{self._port}/realms/master"

    @property
    def token_address(self) -> str:
        return f"{self.realm}/protocol/openid-connect/token"

    def start(self) -> None:
        """Unpack, start, and make the client. Raises DownloadFailed, StartFailed."""
        (archive,) = jars.resolve((PACKAGE,), transitive=False)
        with zipfile.ZipFile(archive) as file:
            file.extractall(self._folder)
        (home,) = self._folder.glob("keycloak-*")
        script = home / "bin" / "kc.sh"
        script.chmod(0o755)
        environment = {
            **os.environ,
            "KC_BOOTSTRAP_ADMIN_USERNAME": ADMIN,
            "KC_BOOTSTRAP_ADMIN_PASSWORD": ADMIN,
            "JAVA_OPTS_KC_HEAP": "-Xmx512m",
            "JAVA_OPTS_APPEND": "-XX:TieredStopAtLevel=1",
        }
        options = [f"--http-host={LOOPBACK}", f"--http-port={self._port}"]
        options += [f"--http-management-port={self._management}", "--cache=local"]
        log = self._folder / "keycloak.log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(script), "start-dev", *options],
                env=environment,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        process = self._process
        if not wait_until(lambda: process.poll() is not None or self._answers(), READY_WITHIN) or process.poll():
            self.stop()
            message = f"Keycloak ended or does not answer: {log.read_text(errors='replace')[-3000:]}"
            raise StartFailed(message)
        self._make_client()

    def stop(self) -> None:
        """End it, with the processes that its script started."""
        process = self._process
        if process is None:
            return
        try:
            os.killpg(process.pid, signal.SIGTERM)
            process.wait(20)
        except ProcessLookupError:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)
        for home in self._folder.glob("keycloak-*"):
            shutil.rmtree(home, ignore_errors=True)

    def token(self) -> str:
        """Return a token of the client."""
        form = {"grant_type": "client_credentials", "client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
        return str(_post(self.token_address, form)["access_token"])

    def is_active(self, token: str) -> bool:
        """Check a token's signature, issuer and expiry by the server's keys, as a resource server does."""
        keys = jwt.PyJWKClient(f"{self.realm}/protocol/openid-connect/certs")
        try:
            key = keys.get_signing_key_from_jwt(token)
            jwt.decode(token, key, algorithms=["RS256"], issuer=self.realm, options={"verify_aud": False})
        except jwt.PyJWTError:
            return False
        return True

    def _make_client(self) -> None:
        form = {"grant_type": "password", "client_id": "admin-cli", "username": ADMIN, "password": ADMIN}
        token = _post(self.token_address, form)["access_token"]
        client = {
            "clientId": CLIENT_ID,
            "secret": CLIENT_SECRET,
            "publicClient": False,
            "serviceAccountsEnabled": True,
            "standardFlowEnabled": False,
            "attributes": {"access.token.lifespan": str(self._lifetime)},
        }
        address = self.realm.replace("/realms/", "/admin/realms/") + "/clients"
        request = urllib.request.Request(address, json.dumps(client).encode())  # noqa: S310 - on loopback
        request.add_header("Authorization", f"Bearer {token}")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - on loopback
            assert answer.status == 201

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(self.realm, timeout=5) as answer:  # noqa: S310 - on loopback
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False


def _post(address: str, form: dict[str, str]) -> dict[str, Any]:
    with urllib.request.urlopen(address, urlencode(form).encode(), timeout=30) as answer:  # noqa: S310 - on loopback
        found: dict[str, Any] = json.loads(answer.read())
        return found
