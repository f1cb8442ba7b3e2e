"""Schemas on disk: a registry gives an id to one schema, so the next process need not ask for them.

One file a schema, for all registries together, in a folder that only this user can read. A file appears by a rename when
it is whole; one that is damaged, or that another user owns, counts as missing and is written again. Several processes may
use the folder at once.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import stat
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from floe.cache_folder import cache_folder
from floe.schema_registry.schema import RegisteredSchema

log = logging.getLogger(__name__)

MAX_FILES: Final = 1_000
MAX_BYTES: Final = 64 * 1024 * 1024
FOLDER: Final = "schemas"

_FORMAT = 1
_SUFFIX = ".json"
_UNFINISHED = "writing-"
_ABANDONED_AFTER = 3600.0
"""Seconds after which an unfinished file is of a process that ended."""
_NAME = re.compile(r"[0-9A-Za-z-]{1,120}")


class SchemaFiles:
    """The folder; all methods do without it where it fails, as it saves time only."""

    def __init__(self, folder: Path, max_files: int = MAX_FILES, max_bytes: int = MAX_BYTES) -> None:
        self._folder = folder
        self._max_files = max_files
        self._max_bytes = max_bytes

    @classmethod
    def open(cls, environ: Mapping[str, str]) -> SchemaFiles | None:
        """Return the files in floe's cache folder; None where there is none, or where others could read or write it."""
        try:
            base = cache_folder(environ)
            if base is None:
                return None
            folder = base / FOLDER
            folder.mkdir(mode=0o700, exist_ok=True)
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
                msg = f"{folder} must be a folder of this user alone"
                raise PermissionError(msg)
        except (OSError, RuntimeError) as error:  # without a home folder there is RuntimeError
            log.warning("schemas are not kept on disk: %s", error)
            return None
        return cls(folder)

    def load(self, name: str, max_age: float | None = None) -> RegisteredSchema | None:
        """Return the schema that was stored under the name; None if there is none, or if the file is damaged.

        ``max_age``: seconds since it was stored, after which it counts as missing.
        """
        path = self._path(name)
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                found = os.fstat(file.fileno())
                if found.st_uid != os.getuid() or found.st_mode & 0o077 or found.st_size > self._max_bytes:
                    return None
                fields = json.loads(file.read())
            if fields["format"] != _FORMAT or fields["name"] != name or fields["digest"] != _digest(fields["schema"]):
                return None
            if max_age is not None and not 0 <= time.time() - fields["stored"] <= max_age:
                return None
            schema = RegisteredSchema.from_json(fields["schema"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        with suppress(OSError):
            os.utime(path)  # the files that were not used for longest are removed first
        return schema

    def store(self, name: str, schema: RegisteredSchema) -> None:
        """Store a schema and remove the oldest ones beyond the limits."""
        fields = schema.to_json()
        head = {"format": _FORMAT, "name": name, "stored": time.time(), "digest": _digest(fields)}
        content = json.dumps({**head, "schema": fields}).encode()
        if len(content) > self._max_bytes:
            return
        try:
            handle, unfinished = tempfile.mkstemp(prefix=_UNFINISHED, dir=self._folder)  # mode 0600
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(content)
                Path(unfinished).replace(self._path(name))
            except BaseException:
                Path(unfinished).unlink(missing_ok=True)
                raise
            self._trim()
        except OSError as error:
            log.debug("schema %s is not kept on disk: %s", name, error)

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            msg = f"{name!r} is no name of a schema's file"
            raise ValueError(msg)
        return self._folder / f"{name}{_SUFFIX}"

    def _trim(self) -> None:
        now = time.time()
        files: list[tuple[float, int, str]] = []
        with os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):  # another process removed it
                    found = entry.stat(follow_symlinks=False)
                    if not entry.name.startswith(_UNFINISHED):
                        files.append((found.st_mtime, found.st_size, entry.name))
                    elif found.st_mtime < now - _ABANDONED_AFTER:
                        (self._folder / entry.name).unlink(missing_ok=True)
        files.sort()
        count, size = len(files), sum(nbytes for _, nbytes, _ in files)
        for _, nbytes, name in files:
            if count <= self._max_files and size <= self._max_bytes:
                break
            (self._folder / name).unlink(missing_ok=True)
            count, size = count - 1, size - nbytes


def _digest(fields: Any) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
