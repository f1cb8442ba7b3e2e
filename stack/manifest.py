"""``python -m stack.manifest`` writes ``plugins/floe/manifest.txt``, the modules that an installation of floe has, and
``plugins/floe/workers.txt``, those of them that Spark's workers get.

Run it when a module was added, moved or removed, or imports another one; a test compares both with the tree.
"""

import ast
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
MANIFEST = REPOSITORY / "plugins" / "floe" / "manifest.txt"
WORKERS = REPOSITORY / "plugins" / "floe" / "workers.txt"
PACKAGES = (REPOSITORY / "plugins" / "floe", REPOSITORY / "spark_jobs" / "floe_job")

LOADED_BY_WORKERS = (
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
    "floe_job.runtime.spark_runner",
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


def manifest() -> str:
    """Return the manifest of the tree as it is: a module a line."""
    return "".join(f"{name}\n" for name in sorted(_files()))


def workers() -> str:
    """Return the modules of workers, a module a line."""
    files = _files()
    modules = {_module(name): name for name in files}
    waiting = [module for module in modules if any(fnmatch(module, pattern) for pattern in LOADED_BY_WORKERS)]
    found: set[str] = set()
    while waiting:
        module = waiting.pop()
        if module in found or module not in modules:
            continue
        found.add(module)
        waiting.append(module.rpartition(".")[0])
        waiting += _imports(files[modules[module]].read_text(encoding="utf-8"))
    return "".join(f"{modules[module]}\n" for module in sorted(found))


def _files() -> dict[str, Path]:
    return {path.relative_to(package.parent).as_posix(): path for package in PACKAGES for path in package.rglob("*.py")}


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


def main() -> int:
    """Write both."""
    MANIFEST.write_text(manifest(), encoding="utf-8")
    WORKERS.write_text(workers(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
