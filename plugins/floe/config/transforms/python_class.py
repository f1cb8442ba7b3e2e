"""Transforms that users write in Python: ``transforms.x.type=python:package.module.Class``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from floe.config.keys.loaded_code import PYTHON
from floe.config.properties import Properties
from floe.config.transforms.allowed_modules import OWN_PACKAGES, AllowedModules
from floe.config.transforms.options import TransformOptions, of_job
from floe.config.transforms.python_source import PythonSource, SourceProblem, source_of, version_of

PREFIX: Final = PYTHON
MAX_PATH: Final = 500

Code = Mapping[str, tuple[int, str]]
"""By the path of a class its version and the SHA-256 of the code."""

_PATH: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
_SHOWN_CHARACTERS: Final = 100
_OWN_KEYS: Final = frozenset({"type", "predicate", "negate"})


@dataclass(frozen=True)
class PythonClass(TransformOptions):
    """A class of the user. ``path``: ``package.module.Class``. ``keys``: its options, sorted by name.

    ``entry``: of the allow-list, which names the modules that belong to it. ``sha256``: the hash of these. ``alias``: the
    name of the transform, for messages. The class may do all that a transform can, so it is part of every route hash.
    """

    engine: ClassVar = of_job("own.records:PythonRecords", reads="columns")

    path: str
    entry: str
    version: int
    sha256: str
    alias: str = ""
    keys: tuple[tuple[str, str], ...] = ()

    @property
    def makes_fields(self) -> bool:
        return True

    @property
    def module(self) -> str:
        """The module that the class is in."""
        return self.path.rpartition(".")[0]

    @property
    def class_name(self) -> str:
        """The class's name without its module."""
        return self.path.rpartition(".")[2]

    def to_json(self) -> dict[str, Any]:
        """Return the version and the options: other code of the same version gives the same rows."""
        return {"version": self.version, "keys": dict(self.keys)}

    def read(self) -> "tuple[PythonClass, PythonSource]":
        """Return the same with version and hash of the code as it is now, and that code. Raises SourceProblem."""
        source, text = source_of(self.module, self.entry)
        return replace(self, version=version_of(text, self.class_name), sha256=source.sha256), source

    def present(self) -> "PythonClass":
        """Return the same with version and hash of the code as it is now. Raises SourceProblem."""
        return self.read()[0]


def read_python_class(
    problems: list[str], alias: str, prefix: str, keys: Properties, allowed: AllowedModules
) -> PythonClass | None:
    """Read the settings of a transform whose type begins with ``python:``; problems are noted in ``problems``."""
    path = keys["type"].strip().removeprefix(PREFIX)
    where = f"{prefix}type {keys['type'].strip()[:_SHOWN_CHARACTERS]!r}"
    if not _PATH.fullmatch(path) or len(path) > MAX_PATH:
        problems.append(
            f"{where} is no path of a class: write {PREFIX}package.module.Class, of letters, digits, '_' and dots, at most "
            f"{MAX_PATH} characters"
        )
        return None
    module = path.rpartition(".")[0]
    if module.partition(".")[0] in OWN_PACKAGES:
        problems.append(f"{where} is in a package of floe's own: put the class into a module of yours")
        return None
    entry = allowed.entry(module)
    if entry is None:
        problems.append(f"{where}: {allowed.problem(module)}")
        return None
    own = tuple(sorted((key, value) for key, value in keys.items() if key not in _OWN_KEYS))
    try:
        return PythonClass(path, entry, 0, "", alias, own).present()
    except SourceProblem as error:
        problems.append(f"{where}: {error}")
        return None
