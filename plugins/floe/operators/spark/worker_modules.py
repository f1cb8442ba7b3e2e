"""The modules that Spark's workers may load: those that they call or unpickle by name, and all that these import."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path

PACKAGES = ("floe", "floe_job")

LOADED_BY_NAME = (
    "floe.catalogs.*_file_io",
    "floe.config.sections.*",
    "floe.config.transforms.*",
    "floe.model.*",
    "floe.parquet.*",
    "floe_job.connect.*",
    "floe_job.contract.*",
    "floe_job.convert.*",
    "floe_job.dead_letters.*",
    "floe_job.routing.*",
    "floe_job.runtime.spark_jobs",
    "floe_job.runtime.worker_daemon",
    "floe_job.schema.*",
    "floe_job.shuffle.*",
    "floe_job.source.*",
    "floe_job.task.*",
    "floe_job.transform.*",
    "floe_job.types.*",
    "floe_job.write.*",
)
"""What is called, unpickled or loaded by its name. All that these import, wherever they do, goes along."""


def folder_of(package: str) -> Path:
    """Return the folder of an installed package, of a checkout's too; it is not imported. Raises ModuleNotFoundError."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        msg = f"{sys.executable} has no package {package!r}: install airflow-provider-floe there"
        raise ModuleNotFoundError(msg, name=package)
    return Path(next(iter(spec.submodule_search_locations)))


def sources() -> dict[str, str]:
    """Return the paths of all of floe's modules as they are installed, by their names in an archive: ``floe/names.py``."""
    return {name: path for package in PACKAGES for name, path in sorted(_walk(str(folder_of(package)), package))}


def worker_modules(files: Mapping[str, str]) -> list[str]:
    """Return the names of those that workers may load, in their order."""
    modules = {_module(name): name for name in files}
    waiting = [module for module in modules if any(fnmatch(module, pattern) for pattern in LOADED_BY_NAME)]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in found or module not in modules:
            continue
        found.add(module)
        waiting.append(module.rpartition(".")[0])
        waiting += _imports(Path(files[modules[module]]).read_text(encoding="utf-8"))
    return sorted(modules[module] for module in found)


def _walk(folder: str, name: str) -> Iterator[tuple[str, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                yield f"{name}/{entry.name}", entry.path
            elif entry.name != "__pycache__" and entry.is_dir():
                yield from _walk(entry.path, f"{name}/{entry.name}")


def _module(name: str) -> str:
    return name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(source: str) -> Iterator[str]:
    """Yield what a module imports, in functions too; not for type checkers alone."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                waiting += node.orelse
                continue
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                yield module
                yield from (f"{module}.{alias.name}" for alias in node.names)
        waiting += ast.iter_child_nodes(node)
