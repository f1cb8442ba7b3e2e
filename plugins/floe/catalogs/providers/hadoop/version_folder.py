"""The versions of a table in a Hadoop catalog: ``metadata/vN.metadata.json``, and the hint which is the current one.

The current version is the last one. Java finds it from the hint upwards, which leads to the same as long as no version is
missing in between. A version is never replaced. All names are looked up in a folder that is held open: if the table is
dropped and another one created, that is another folder.
"""

from __future__ import annotations

import errno
import fcntl
import gzip
import logging
import os
import re
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyiceberg.exceptions import CommitFailedException, ForbiddenError

from floe.catalogs.exceptions import TableRefused

log = logging.getLogger(__name__)

HINT: Final = "version-hint.text"
GZIP: Final = ".gz"
LOCKED_WITHIN: Final = 20.0
"""Seconds that a commit waits for another one to the same table."""

_VERSION: Final = re.compile(r"v(\d{1,18})(\.gz)?\.metadata\.json(\.gz)?")
_PAUSES: Final = (0.01, 0.05, 0.2, 0)
"""Seconds before another listing."""
_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOTSUP, errno.EBADF, errno.ENOSYS)
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EXDEV)
_NOT_WRITABLE: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True)
class Version:
    """One version of a table, and its file's name."""

    number: int
    name: str


@dataclass(frozen=True)
class VersionFolder:
    """A table's folder ``metadata``, held open."""

    path: Path
    descriptor: int

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[VersionFolder]:
        """Hold a folder open. Raises FileNotFoundError, NotADirectoryError."""
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield cls(path, descriptor)
        finally:
            os.close(descriptor)

    def current(self) -> Version | None:
        """Return the current version; None if there is none. Raises TableRefused if it is not clear which one that is."""
        for pause in _PAUSES:
            found, problem = self._look()
            if problem is None:
                return found
            time.sleep(pause)  # a listing may lack a version that was made meanwhile, and have a later one
        msg = (
            f"{self.path}: {problem}. Nothing was read or committed. Find out who changes that folder; put a missing file "
            f"back, or remove {HINT} if the last version is the table's"
        )
        raise TableRefused(msg, code="FLOE-431")

    def _look(self) -> tuple[Version | None, str | None]:
        """Return the last version, and what is not clear about it."""
        hint = self._hint()  # first: what it names is there already
        found: dict[int, list[str]] = {}
        for match in self._versions():
            found.setdefault(int(match[1]), []).append(match[0])
        if not found:
            return None, None
        last = max(found)
        version = Version(last, found[last][0])
        if hint is not None and hint > last:
            return version, f"{HINT} names version {hint}, and the last one that is there is {last}"
        if hint in found and (missing := next((n for n in range(hint, last) if n not in found), None)) is not None:
            return version, f"version {missing} is missing between {hint}, which {HINT} names, and {last}"
        if len(found[last]) > 1 or version.name.endswith(GZIP):
            return (
                version,
                f"version {last} is in {' and '.join(sorted(found[last]))}, and not in one file of today's names",
            )
        return version, None

    def has_versions(self) -> bool:
        """Say whether this is a table's."""
        return next(self._versions(), None) is not None

    def read(self, version: Version) -> bytes:
        """Return the metadata of a version as JSON."""
        with os.fdopen(os.open(version.name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.descriptor), "rb") as file:
            content = file.read()
        return gzip.decompress(content) if GZIP in version.name else content

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep all others of floe's processes from changing versions; a process that ends gives the lock back.

        Raises CommitFailedException if it is not got in time, or if the folder is not the table's any more; TableRefused.
        """
        end = time.monotonic() + LOCKED_WITHIN
        while not self._try_lock():
            if time.monotonic() > end:
                msg = f"another process has been committing in {self.path} for {LOCKED_WITHIN:.0f} s"
                raise CommitFailedException(msg)
            time.sleep(0.02)
        try:
            if not self._is_in_place():
                msg = f"Requirement failed: the table in {self.path.parent} was dropped or replaced meanwhile"
                raise CommitFailedException(msg)
            yield
        finally:
            fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def publish(self, version: Version, metadata: bytes) -> None:
        """Make a version the current one, in one step. Raises CommitFailedException if it exists; TableRefused."""
        name = f"{uuid.uuid4()}.metadata.json.tmp"
        self._write(name, gzip.compress(metadata) if GZIP in version.name else metadata)
        try:
            self._link(name, version)
            os.fsync(self.descriptor)
        finally:
            with suppress(OSError):
                os.unlink(name, dir_fd=self.descriptor)
        try:
            self._write_hint(version.number)
        except OSError as error:  # the commit was made, and every reader finds the version without the hint
            log.warning("%s in %s remains as it was: %s", HINT, self.path, error)

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            msg = (
                f"the file system of {self.path} has no locks ({error.strerror}), so two commits at once could lose rows. "
                "Nothing was committed. Use another file system, or another type of catalog"
            )
            raise TableRefused(msg, code="FLOE-430") from error
        return True

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(self.descriptor))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _versions(self) -> Iterator[re.Match[str]]:
        with os.scandir(self.descriptor) as entries:
            yield from filter(None, (_VERSION.fullmatch(entry.name) for entry in entries))

    def _hint(self) -> int | None:
        try:
            with os.fdopen(os.open(HINT, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self.descriptor), "rb") as file:
                return int(file.readline(40))
        except (FileNotFoundError, ValueError):
            return None

    def _link(self, name: str, version: Version) -> None:
        folder = self.descriptor
        try:
            os.link(name, version.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError as error:
            made, given = (os.stat(one, dir_fd=folder) for one in (version.name, name))
            if not os.path.samestat(made, given):  # a network file system may say so of what it has just made
                msg = f"Table has been updated by another process: {self.path / version.name} exists"
                raise CommitFailedException(msg) from error
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            msg = (
                f"the file system of {self.path} has no hard links ({error.strerror}), which a commit needs as its one "
                "step. Nothing was committed. Use another file system, or another type of catalog"
            )
            raise TableRefused(msg, code="FLOE-430") from error

    def _write(self, name: str, content: bytes) -> None:
        try:
            descriptor = os.open(
                name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=self.descriptor
            )
        except OSError as error:
            if error.errno not in _NOT_WRITABLE:
                raise
            msg = f"{self.path} is not writable for this user ({error.strerror})"
            raise ForbiddenError(msg) from error
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)

    def _write_hint(self, number: int) -> None:
        name = f"{uuid.uuid4()}-version-hint.temp"
        self._write(name, str(number).encode())
        with suppress(FileNotFoundError):
            os.unlink(f".{HINT}.crc", dir_fd=self.descriptor)  # Hadoop's checksum of the hint that was
        os.replace(name, HINT, src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
