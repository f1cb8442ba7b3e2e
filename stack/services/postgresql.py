"""A PostgreSQL server, of Debian's or of this machine's package, on loopback, with its data in a folder of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from stack.exceptions import StartFailed, Unsuitable
from stack.progress import wait_until
from stack.settings import LOOPBACK

READY_WITHIN = 120.0
ADMIN = "floe_admin"
PASSWORD = "floe's p@ss:w/rd%+?#&=é"  # noqa: S105 - of a server on loopback; every character that an address has to quote
DATABASE = "lake"
_OTHERS = ("postgres", "nobody")
"""Whom the server runs as if this process is root, which PostgreSQL refuses."""
_SETTINGS = (
    *("-c", f"listen_addresses={LOOPBACK}", "-c", "unix_socket_directories=", "-c", "shared_buffers=16MB"),
    *("-c", "fsync=off", "-c", "max_connections=40", "-c", "superuser_reserved_connections=3"),
)


def programs() -> Path:
    """Return the folder of the newest PostgreSQL server here. Raises Unsuitable."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    one = str(found[-1]) if found else shutil.which("postgres")
    if one is None:
        message = "no PostgreSQL server here: install Debian's package postgresql"
        raise Unsuitable(message)
    return Path(one).parent


class PostgreSql:
    """Starts, stops and restarts the server. ``folder``: of its log; the data is in a folder that its user may enter."""

    def __init__(self, folder: Path, port: int) -> None:
        self.port = port
        self._log = folder / "postgresql.log"
        self._programs = programs()
        self._user = next((u for u in _OTHERS if _is_user(u)), "nobody") if os.getuid() == 0 else None
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def jdbc(self) -> str:
        """The database's address for Java."""
        return f"jdbc:postgresql://{LOOPBACK}:{self.port}/{DATABASE}"

    def start(self) -> None:
        """Create the database at the first start, and start the server. Raises StartFailed."""
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="floe-postgresql-"))
            if self._user is not None:
                shutil.chown(self._folder, self._user)
            self._create(self._folder)
        data = str(self._folder / "data")
        with self._log.open("ab") as log:
            command = [str(self._programs / "postgres"), "-D", data, "-p", str(self.port), *_SETTINGS]
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, user=self._user, cwd=data, start_new_session=True
            )
        process = self._process
        if not wait_until(lambda: process.poll() is not None or self._answers(), READY_WITHIN) or process.poll():
            message = f"PostgreSQL ended or does not answer: {self._log.read_text(errors='replace')[-2000:]}"
            self.stop()
            raise StartFailed(message)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it with its connections; ``how``: SIGINT for at once, SIGQUIT as in a crash."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(10)

    def remove(self) -> None:
        """End it and remove its data."""
        self.stop()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def sql(self, statement: str, database: str = DATABASE) -> str:
        """Run a statement as the administrator, and return its rows as text, a line each. Raises StartFailed."""
        done = self._psql(statement, database)
        if done.returncode:
            raise StartFailed(done.stderr)
        return done.stdout.strip()

    def _psql(self, statement: str, database: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._programs / "psql"), "-h", LOOPBACK, "-p", str(self.port), "-U", ADMIN, "-d", database]
        command += ["-X", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement]
        environment = {**os.environ, "PGPASSWORD": PASSWORD, "PGCONNECT_TIMEOUT": "5"}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def _answers(self) -> bool:
        tries = (("SELECT 1", DATABASE), (f"CREATE DATABASE {DATABASE}", "postgres"))
        return any(not self._psql(statement, database).returncode for statement, database in tries)

    def _create(self, folder: Path) -> None:
        with tempfile.NamedTemporaryFile("w", prefix="floe-postgresql-") as secret:
            secret.write(PASSWORD)
            secret.flush()
            if self._user is not None:
                shutil.chown(secret.name, self._user)
            command = [str(self._programs / "initdb"), "-D", str(folder / "data"), "-U", ADMIN, "--auth=scram-sha-256"]
            command += [f"--pwfile={secret.name}", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"]
            done = subprocess.run(command, user=self._user, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            message = f"PostgreSQL's data could not be created: {done.stderr[-2000:]}"
            raise StartFailed(message)


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
