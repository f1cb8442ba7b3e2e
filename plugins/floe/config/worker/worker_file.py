"""The worker file: the properties of a Kafka Connect worker, which ``FLOE_WORKER_CONFIG`` names."""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from floe.config.properties import Properties
from floe.config.worker.java_properties import MalformedProperties, parse_properties

VARIABLE: Final = "FLOE_WORKER_CONFIG"
MAX_BYTES: Final = 1 << 20
MAX_KEYS: Final = 5000

_Version = tuple[str, int, int, int]


@dataclass(frozen=True)
class WorkerFile:
    """The keys of a worker file; none where there is no file. With ``problems`` no connector can be read.

    ``path`` is empty where the environment names no file.
    """

    path: str = ""
    keys: Properties = Properties()  # noqa: RUF009 - immutable
    problems: tuple[str, ...] = ()

    @property
    def named(self) -> str:
        """The file, for messages."""
        return f"the worker file {self.path} ({VARIABLE})" if self.path else f"a worker file ({VARIABLE} is not set)"


NO_FILE: Final = WorkerFile()

_READ: dict[_Version, WorkerFile] = {}
"""The version of the file that was read last: a folder of connectors is parsed with one."""


def worker_file(environ: Mapping[str, str]) -> WorkerFile:
    """Read the file that the environment names; again only if it changed. What is wrong with it is in its ``problems``."""
    path = environ.get(VARIABLE, "").strip()
    if not path:
        return NO_FILE
    full = Path(path).expanduser()
    try:
        status = full.stat()
        version = (path, status.st_mtime_ns, status.st_size, status.st_ino)
        found = _READ.get(version)
        if found is None:
            found = _parse(path, _content(full, status))
            _READ.clear()
            _READ[version] = found
    except OSError as error:
        return _broken(path, f"it cannot be read: {error.strerror or error}")
    except ValueError as error:
        return _broken(path, str(error))
    return found


def _content(path: Path, status: os.stat_result) -> bytes:
    if not stat.S_ISREG(status.st_mode):
        msg = "it is no file"
        raise ValueError(msg)
    with path.open("rb") as stream:
        return stream.read(MAX_BYTES + 1)


def _parse(path: str, content: bytes) -> WorkerFile:
    if len(content) > MAX_BYTES:
        return _broken(path, f"it has more than {MAX_BYTES} bytes")
    try:
        keys = parse_properties(content.decode("latin-1"))  # as Java reads a stream
    except MalformedProperties as error:
        return _broken(path, str(error))
    if len(keys) > MAX_KEYS:
        return _broken(path, f"it has {len(keys)} keys: a worker has at most {MAX_KEYS}")
    return WorkerFile(path, Properties({key: value.strip() for key, value in keys.items()}))


def _broken(path: str, why: str) -> WorkerFile:
    problem = (
        f"the worker file {path} ({VARIABLE}): {why}. No connector is read without it: correct the file or the variable"
    )
    return WorkerFile(path, problems=(problem,))
