"""Where the Spark job is located, and how its library reaches Spark's workers."""

from __future__ import annotations

import hashlib
import importlib.util
import marshal
import os
import sys
import time
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType, MappingProxyType, ModuleType

from floe.cache_folder import cache_folder

MARSHAL_VERSION = 2
"""Later ones write references where an object happens to be shared, so that no two processes agree."""

WORKERS = Path(__file__).resolve().parents[2] / "workers.txt"
"""The modules that workers may load. ``python -m stack.manifest`` writes it; drivers run where floe is installed."""

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
    """Pack what workers load into ``floe-<hash>.zip``, in ``folder`` or, once for all, in floe's cache.

    Equal sources give equal bytes and name, for one version of Python and of the library that compresses. The name carries
    the content's hash: a Connect session that was given other bytes under a known name would go on with the old code.

    ``own``: modules of the user, by name.
    """
    files = _files()
    cache: Path | None = None
    with suppress(OSError):
        cache = cache_folder(os.environ)
    digest = _digest(files, cache)
    for name, text in sorted(own.items()):
        digest += f"\0{name}\0{len(text)}\0{text}"
    target = (cache or folder) / f"floe-{hashlib.sha256(digest.encode()).hexdigest()[:16]}.zip"
    if not target.exists():
        draft = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        _pack(files, own, draft)
        draft.replace(target)
    return target


def _files() -> list[tuple[str, Path]]:
    """Return the files of what workers load, by their names in the archive."""
    roots = {"floe": PLUGINS, "floe_job": jobs_folder()}
    return [(name, roots[name.partition("/")[0]] / name) for name in WORKERS.read_text(encoding="utf-8").split()]


def _digest(files: Sequence[tuple[str, Path]], cache: Path | None) -> str:
    """Return the hash of the files' content, which is kept in the cache by their sizes and times.

    It is not kept where a file was changed a moment ago: the next change might have the same time.
    """
    if cache is None:
        return _content_digest(files)
    began = time.time_ns()
    stamp, latest = hashlib.sha256(_maker().encode()), 0
    for name, path in files:
        stat = path.stat()
        times = stat.st_mtime_ns, stat.st_ctime_ns
        stamp.update(f"{name}\0{path}\0{stat.st_size}\0{times}\0{stat.st_ino}\0".encode())
        latest = max(latest, *times)
    known = cache / f"code-{stamp.hexdigest()[:32]}"
    with suppress(FileNotFoundError):
        return known.read_text(encoding="ascii")
    digest = _content_digest(files)
    if latest < began - SETTLED_NS:
        draft = known.with_name(f"{known.name}.{uuid.uuid4().hex}")
        draft.write_text(digest, encoding="ascii")
        draft.replace(known)
    return digest


def _content_digest(files: Sequence[tuple[str, Path]]) -> str:
    digest = hashlib.sha256(_maker().encode())
    for name, path in files:
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _maker() -> str:
    """Name what else decides the archive's bytes."""
    import pyarrow as pa

    return f"{MAGIC_NUMBER.hex()} {pa.__version__}"


def _pack(files: Sequence[tuple[str, Path]], own: Mapping[str, str], target: Path) -> None:
    from floe.operators.spark import bundle  # not above: nothing heavy while Airflow parses DAGs

    modules = {}
    for name, path in files:
        code = marshalled(name, path)
        module = name.removesuffix(".py").replace("/", ".")
        modules[module.removesuffix(".__init__")] = (
            module.endswith(".__init__"),
            path.read_text(encoding="utf-8") if code is None else code,
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
