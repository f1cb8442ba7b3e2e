"""Where the Spark job is located, and how its library reaches Spark's workers."""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import sys
import uuid
import zipfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType

from floe.cache_folder import cache_folder

MARSHAL_VERSION = 2
"""Later ones write references where an object happens to be shared, so that no two processes agree."""

UNCHECKED_HASH = (0b01).to_bytes(4, "little")
"""PEP 552: valid for its source as it is. Both come in one archive, and where Python is another, the source is read."""


def bytecode(name: str, path: Path, source: bytes) -> bytes | None:
    """Return the content of the ``.pyc`` of a file that is in the archive as ``name``; None if there can be none."""
    code = SourceFileLoader(name, str(path)).get_code(name)
    if code is None:
        return None
    try:
        body = marshal.dumps(_moved(code, name), MARSHAL_VERSION)
    except ValueError:  # a constant that this version cannot write
        return None
    return MAGIC_NUMBER + UNCHECKED_HASH + source_hash(source) + body


def _moved(code: CodeType, name: str) -> CodeType:
    """Return the code as if it had been compiled from a file of this name."""
    consts = tuple(_moved(one, name) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=name, co_consts=consts)


PLUGINS = Path(__file__).resolve().parents[3]
FOLDER_VARIABLE = "FLOE_SPARK_JOBS_DIR"


def jobs_folder() -> Path:
    """Return the folder ``spark_jobs``: beside ``plugins``, or where ``FLOE_SPARK_JOBS_DIR`` says."""
    return Path(os.environ.get(FOLDER_VARIABLE) or PLUGINS.parent / "spark_jobs").resolve()


@cache
def write_job() -> ModuleType:
    """Load ``write_files.py`` by path: the one edge from the library to the jobs."""
    folder = jobs_folder()
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    path = folder / "write_files.py"
    spec = importlib.util.spec_from_file_location("floe_write_files", path)
    if spec is None or spec.loader is None or not path.is_file():
        msg = f"{path} is not there: copy floe's spark_jobs folder beside plugins, or set {FOLDER_VARIABLE}"
        raise FileNotFoundError(msg)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python_path() -> str:
    """Return the ``PYTHONPATH`` by which processes on this machine find the library and the job."""
    return os.pathsep.join([str(PLUGINS), str(jobs_folder())])


def own_folder(folder: Path, own: Mapping[str, str]) -> str:
    """Write modules of the user below a job's ``folder``; return what they add to ``PYTHONPATH``, nothing for none."""
    for name, text in own.items():
        path = folder / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return f"{folder / 'own'}{os.pathsep}" if own else ""


def archive(folder: Path, own: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Pack library and job into ``floe-<hash>.zip`` for workers elsewhere, in ``folder`` or, once for all, in floe's cache.

    Equal sources give equal bytes and name, for one version of Python. The name carries the content's hash: a Connect
    session that was given other bytes under a known name would go on with the old code.

    ``own``: modules of the user, by name.
    """
    files = sorted(
        (path.relative_to(root).as_posix(), path.read_bytes(), path)
        for root, package in ((PLUGINS, "floe"), (jobs_folder(), "floe_job"))
        for path in (root / package).rglob("*.py")
    )
    digest = hashlib.sha256(MAGIC_NUMBER)
    for name, source, _ in files:
        digest.update(name.encode() + b"\0" + source + b"\0")
    for name, text in sorted(own.items()):
        digest.update(f"{name}\0{len(text)}\0{text}".encode())
    with suppress(OSError):
        folder = cache_folder(os.environ) or folder
    target = folder / f"floe-{digest.hexdigest()[:16]}.zip"
    if not target.exists():
        draft = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        _pack(files, own, draft)
        draft.replace(target)
    return target


def _pack(files: Iterable[tuple[str, bytes, Path]], own: Mapping[str, str], target: Path) -> None:
    with zipfile.ZipFile(target, "w") as packed:
        for name, source, path in files:
            code = bytecode(name, path, source)
            if code is not None:
                packed.writestr(_entry(f"{name}c"), code)
            packed.writestr(_entry(name), source)
        for name, text in sorted(own.items()):
            packed.writestr(_entry(name), text.encode())


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry
