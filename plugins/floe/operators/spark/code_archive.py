"""The Spark job, and how floe's code reaches its driver and Spark's workers."""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from floe.cache_folder import cache_folder
from floe.operators.spark.worker_modules import PACKAGES, folder_of, sources, worker_modules

MARSHAL_VERSION = 2
"""Later ones write references where an object happens to be shared, so that no two processes agree."""

PYTHONS_OWN = ("site-packages", "dist-packages")
"""Names of folders that are on every Python's path."""

SETTLED_NS = 3_000_000_000
"""Age of a change from which a file's times show each later one: the coarsest file systems keep them to two seconds."""


def marshalled(name: str, path: Path) -> bytes | None:
    """Return the code of a file that is in the archive as ``name``; None if it cannot be written."""
    code = SourceFileLoader(name, str(path)).get_code(name)
    if code is None:
        return None
    try:
        return marshal.dumps(_moved(code, name), MARSHAL_VERSION)
    except ValueError:  # a constant that this version cannot write
        return None


def _moved(code: CodeType, name: str) -> CodeType:
    """Return the code as if it had been compiled from a file of this name."""
    consts = tuple(_moved(one, name) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=name, co_consts=consts)


def write_job() -> ModuleType:
    """Load the job that writes: the one edge from the library to the jobs."""
    return import_module("floe_job.application.write_files")


def application() -> Path:
    """Return what spark-submit runs."""
    return folder_of("floe_job") / "application" / "write_files.py"


def python_path(own: Path | None = None) -> str:
    """Return the ``PYTHONPATH`` by which processes of this Python find the library and the job, and modules in ``own``.

    Without the folders that they have anyway: before the standard library, what is installed there could hide a part of it.
    """
    found = [*([str(own)] if own is not None else []), *(str(folder_of(package).parent) for package in PACKAGES)]
    return os.pathsep.join(path for path in dict.fromkeys(found) if Path(path).name not in PYTHONS_OWN)


def own_folder(folder: Path, own: Mapping[str, str]) -> Path | None:
    """Write modules of the user below a job's ``folder``; return where they are, None for none."""
    for name, text in own.items():
        path = folder / "own" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    return folder / "own" if own else None


def archive(folder: Path, own: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Pack what workers load into ``floe-<hash>.zip``, in ``folder`` or, once for all, in floe's cache.

    Equal sources give equal bytes and name, for one version of Python and of the library that compresses. The name carries
    the content's hash: a Connect session that was given other bytes under a known name would go on with the old code.

    ``own``: modules of the user, by name.
    """
    kept_in: Path | None = None
    with suppress(OSError):
        kept_in = cache_folder(os.environ)
    files = sources()
    of_workers = cache(lambda: {name: files[name] for name in worker_modules(files)})
    digest = _digest(files, of_workers, kept_in)
    for name, text in sorted(own.items()):
        digest += f"\0{name}\0{len(text)}\0{text}"
    target = (kept_in or folder) / f"floe-{hashlib.sha256(digest.encode()).hexdigest()[:16]}.zip"
    if not target.exists():
        draft = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        _pack(of_workers(), own, draft)
        draft.replace(target)
    return target


def send(spark: Any, archive: Path) -> None:
    """Give a session the archive for its workers; a classic one fetches it when tasks run, of others too, so it has to stay.

    PySpark would put it on the path of this process and its children, too: it has the workers' half only.
    """
    path = list(sys.path)
    try:
        if type(spark).__module__.startswith("pyspark.sql.connect"):
            spark.addArtifacts(str(archive), pyfile=True)
        else:
            spark.sparkContext.addPyFile(str(archive))
    finally:
        sys.path[:] = path


def _digest(files: Mapping[str, str], of_workers: Callable[[], Mapping[str, str]], kept_in: Path | None) -> str:
    """Return the hash of what workers load, kept in a folder by the sizes and times of all files.

    It is not kept where a file was changed a moment ago: the next change might have the same time.
    """
    if kept_in is None:
        return _content_digest(of_workers())
    began = time.time_ns()
    found = [(path, os.stat(path)) for path in files.values()]  # noqa: PTH116 - a Path for each takes as long again
    shown = [(path, one.st_size, one.st_mtime_ns, one.st_ctime_ns, one.st_ino) for path, one in found]
    stamp = hashlib.sha256(_maker().encode() + marshal.dumps(shown, MARSHAL_VERSION))
    known = kept_in / f"code-{stamp.hexdigest()[:32]}"
    with suppress(FileNotFoundError):
        return known.read_text(encoding="ascii")
    digest = _content_digest(of_workers())
    if max(max(one.st_mtime_ns, one.st_ctime_ns) for _, one in found) < began - SETTLED_NS:
        draft = known.with_name(f"{known.name}.{uuid.uuid4().hex}")
        draft.write_text(digest, encoding="ascii")
        draft.replace(known)
    return digest


def _content_digest(files: Mapping[str, str]) -> str:
    digest = hashlib.sha256(_maker().encode())
    for name, path in files.items():
        digest.update(name.encode() + b"\0" + hashlib.sha256(Path(path).read_bytes()).digest())
    return digest.hexdigest()


def _maker() -> str:
    """Name what else decides the archive's bytes."""
    import pyarrow as pa

    return f"{MAGIC_NUMBER.hex()} {pa.__version__}"


def _pack(files: Mapping[str, str], own: Mapping[str, str], target: Path) -> None:
    from floe.operators.spark import bundle  # not above: nothing heavy while Airflow parses DAGs

    modules = {}
    for name, path in files.items():
        code = marshalled(name, Path(path))
        module = name.removesuffix(".py").replace("/", ".")
        modules[module.removesuffix(".__init__")] = (
            module.endswith(".__init__"),
            Path(path).read_text(encoding="utf-8") if code is None else code,
        )
    entries = {
        bundle.FILE: bundle.packed(modules),
        f"{bundle.NAME}.py": Path(bundle.__file__).read_bytes(),
        **{f"{package}/__init__.py": bundle.STUB.encode() for package in ("floe", "floe_job")},
        **{name: text.encode() for name, text in sorted(own.items())},
    }
    with zipfile.ZipFile(target, "w") as packed:
        for name, content in entries.items():
            packed.writestr(zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0)), content)
