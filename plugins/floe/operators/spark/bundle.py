"""floe's modules in an archive for Spark's workers: the bytecode of all of them, in one compressed file.

In an archive this module is ``floe_bundle``, and each package of floe begins with it (``STUB``). A new worker reads one file
instead of some hundred entries of an archive.
"""

import marshal
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from importlib.util import MAGIC_NUMBER
from struct import Struct
from types import CodeType, ModuleType
from typing import Any, Self
from zipimport import zipimporter

import pyarrow as pa

NAME = "floe_bundle"
FILE = f"{NAME}.bin"
HEAD = Struct("<4sI")
"""The magic number of the Python that it is for, and the bytes of what is compressed."""

CODEC, LEVEL = "zstd", 12

STUB = f"""import {NAME}
{NAME}.Bundle.of(__loader__).run(__name__, globals())
"""

Modules = Mapping[str, tuple[bool, bytes | str]]
"""By name: whether it is a package, and its marshalled code; its source where that cannot be marshalled."""


def packed(modules: Modules) -> bytes:
    """Return the content of ``FILE``."""
    content = marshal.dumps(dict(modules), 2)
    body: bytes = pa.Codec(CODEC, LEVEL).compress(content, asbytes=True)
    return HEAD.pack(MAGIC_NUMBER, len(content)) + body


class Bundle:
    """Finds and loads the modules of one archive: a finder and a loader of the import system."""

    _opened: dict[str, "Bundle"] = {}  # noqa: RUF012 - by archive, of this process

    def __init__(self, archive: str, modules: Modules) -> None:
        self._archive = archive
        self._modules = modules

    @classmethod
    def of(cls, archive: zipimporter) -> "Bundle":
        """Open the bundle of an archive; imports look there first. Raises ImportError where it is for another Python."""
        place = archive.archive
        if place not in cls._opened:
            cls._opened[place] = cls._open(place, archive.get_data(f"{place}/{FILE}"))
            sys.meta_path.insert(0, cls._opened[place])
        return cls._opened[place]

    @classmethod
    def _open(cls, place: str, content: bytes) -> Self:
        magic, size = HEAD.unpack_from(content)
        if magic != MAGIC_NUMBER:
            msg = (
                f"floe was packed by another version of Python than this worker's {sys.version.split()[0]}: give Spark's "
                "workers the version that Airflow's have"
            )
            raise ImportError(msg)
        return cls(place, marshal.loads(pa.Codec(CODEC).decompress(content[HEAD.size :], size, asbytes=True)))  # noqa: S302

    def run(self, name: str, namespace: dict[str, Any]) -> None:
        """Run a module's code in the namespace of one that exists already."""
        exec(self._code(name), namespace)  # noqa: S102

    def _code(self, name: str) -> CodeType:
        content = self._modules[name][1]
        code: CodeType = compile(content, name, "exec") if isinstance(content, str) else marshal.loads(content)  # noqa: S302
        return code

    # -- what the import system calls ---------------------------------------------------------------------------------

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        """Return the spec of a module that is in this archive."""
        if name not in self._modules:
            return None
        is_package = self._modules[name][0]
        place = f"{self._archive}/{name.replace('.', '/')}"
        origin = f"{place}/__init__.py" if is_package else f"{place}.py"
        spec = ModuleSpec(name, self, origin=origin, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [place]
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave that to the import system."""

    def exec_module(self, module: ModuleType) -> None:
        """Run a module's code."""
        self.run(module.__name__, module.__dict__)
