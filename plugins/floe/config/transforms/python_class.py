"""Transforms that users write in Python: ``transforms.x.type=python:package.module.Class``."""

from __future__ import annotations

import ast
import hashlib
import os
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, ClassVar, Final

from floe.config.keys.loaded_code import PYTHON
from floe.config.keys.values import parse_list
from floe.config.properties import Properties
from floe.config.transforms.options import TransformOptions, of_job

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

    def read(self) -> tuple[PythonClass, PythonSource]:
        """Return the same with version and hash of the code as it is now, and that code. Raises SourceProblem."""
        source, text = source_of(self.module, self.entry)
        return replace(self, version=version_of(text, self.class_name), sha256=source.sha256), source

    def present(self) -> PythonClass:
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


# The source of transforms that users write in Python: found, read and hashed, and never run.
#
# The configuration is read wherever a DAG file is parsed. A module of the user imports pyarrow and much else, takes
# seconds, and may fail. So the class and its ``version`` are looked up in the syntax tree, where ``version`` has to
# be a literal number.


MAX_FILES: Final = 1000
MAX_BYTES: Final = 10 << 20
MAX_VERSION: Final = 10**9

_CODING: Final = re.compile(r"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=](?![ \t]*utf-?8\b)", re.IGNORECASE)
_SHOWN_OF_ERROR: Final = 200


class SourceProblem(ValueError):
    """The source of a class cannot be used: the message says why."""


@dataclass(frozen=True)
class PythonSource:
    """All that one entry of the allow-list names. ``files``: their text by name, such as ``package/module.py``."""

    files: Mapping[str, str] = field(repr=False)

    @property
    def sha256(self) -> str:
        """The hash of names and texts."""
        digest = hashlib.sha256()
        for name, text in sorted(self.files.items()):
            digest.update(f"{name}\0{len(text)}\0{text}".encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def find_module(module: str) -> None:
    """Look a module up on the path of this Python; nothing is imported. Raises SourceProblem where there is none."""
    for _ in _lineage(module):
        pass


def source_of(module: str, entry: str) -> tuple[PythonSource, str]:
    """Read the modules that ``entry`` of the allow-list names, and return them with the text of one. Raises SourceProblem.

    These are the module and the packages that it is in, or a package with all that is below it.
    """
    files: dict[str, str] = {}
    package = entry.removesuffix(".*")
    for spec in _lineage(package):
        _add(files, spec)
    if package != entry and spec.submodule_search_locations is not None:
        for found in _below(spec.submodule_search_locations, package):
            _add(files, found)
    name = module.replace(".", "/")
    text = files.get(f"{name}.py", files.get(f"{name}/__init__.py"))
    if text is None:
        problem = f"no module {module!r} is on the path of this Python: {_hint()}"
        raise SourceProblem(problem)
    return PythonSource(files), text


def version_of(text: str, name: str) -> int:
    """Return the ``version`` of a class at the top of a module's text. Raises SourceProblem."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        problem = f"its module is no Python that this interpreter reads: {str(error)[:_SHOWN_OF_ERROR]}"
        raise SourceProblem(problem) from None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    found = [node for node in classes if node.name == name]
    if len(found) != 1:
        names = ", ".join(node.name for node in classes)[:_SHOWN_OF_ERROR] or "none"
        count = "no class" if not found else "more than one class"
        problem = f"its module has {count} {name!r} at the top: its classes are {names}"
        raise SourceProblem(problem)
    values = [value for node in found[0].body for value in _versions(node)]
    if len(values) != 1 or type(values[0]) is not int or not 1 <= values[0] <= MAX_VERSION:
        problem = (
            "the class has no version that can be read without running it: write `version = 1` in its body, once, and raise "
            "the number when the class gives other rows for the same records"
        )
        raise SourceProblem(problem)
    return values[0]


def _versions(node: ast.stmt) -> Iterator[Any]:
    """Yield what a statement of a class's body assigns to ``version``: the number, or None for what is no literal."""
    if isinstance(node, ast.Assign):
        targets: Sequence[ast.expr] = node.targets
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        targets = (node.target,)
    else:
        return
    if any(isinstance(target, ast.Name) and target.id == "version" for target in targets):
        yield node.value.value if isinstance(node.value, ast.Constant) else None


def _lineage(module: str) -> Iterator[ModuleSpec]:
    """Yield the packages that a module is in, outermost first, and the module; nothing is imported. Raises SourceProblem."""
    parts = module.split(".")
    path: list[str] | None = None
    for count in range(1, len(parts) + 1):
        name = ".".join(parts[:count])
        spec = PathFinder.find_spec(name, path) or (_of_other_finders(name) if path is None else None)
        if spec is None:
            problem = f"no module {name!r} is on the path of this Python: {_hint()}"
            raise SourceProblem(problem)
        yield spec
        if count < len(parts):
            if spec.submodule_search_locations is None:
                problem = f"{name!r} is a module and no package: {module!r} cannot be in it"
                raise SourceProblem(problem)
            path = list(spec.submodule_search_locations)


def _of_other_finders(name: str) -> ModuleSpec | None:
    """Look a package at the top up as an editable installation has it; nothing is imported."""
    finders = [finder for finder in sys.meta_path if finder is not PathFinder and hasattr(finder, "find_spec")]
    return next((spec for finder in finders if (spec := finder.find_spec(name, None)) is not None), None)


def _below(locations: Sequence[str], package: str) -> Iterator[ModuleSpec]:
    """Yield all modules below a package. A folder without ``__init__.py`` is none."""
    for found in pkgutil.iter_modules(locations, f"{package}."):
        spec = PathFinder.find_spec(found.name, list(locations))
        if spec is None:
            continue
        yield spec
        if found.ispkg and spec.submodule_search_locations is not None:
            yield from _below(list(spec.submodule_search_locations), found.name)


def _add(files: dict[str, str], spec: ModuleSpec) -> None:
    """Add the text of a module. Raises SourceProblem for what is no Python source."""
    read = getattr(spec.loader, "get_source", None)
    try:
        text = None if read is None or spec.origin is None else read(spec.name)
    except (OSError, ImportError, SyntaxError, ValueError) as error:
        problem = f"the source of {spec.name!r} cannot be read: {str(error)[:_SHOWN_OF_ERROR]}"
        raise SourceProblem(problem) from None
    if text is None:
        what = "is a folder without __init__.py" if spec.origin is None else "has no Python source"
        problem = f"{spec.name!r} {what}: only sources reach Spark's workers"
        raise SourceProblem(problem)
    if _CODING.match(text):
        problem = f"the source of {spec.name!r} is not in UTF-8: write it so"
        raise SourceProblem(problem)
    name = spec.name.replace(".", "/")
    files[f"{name}/__init__.py" if spec.submodule_search_locations is not None else f"{name}.py"] = text.replace(
        "\r\n", "\n"
    ).replace("\r", "\n")
    if len(files) > MAX_FILES or sum(map(len, files.values())) > MAX_BYTES:
        problem = (
            f"{spec.name!r} is one of more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB: list modules, not a package"
        )
        raise SourceProblem(problem)


def _hint() -> str:
    folders = ", ".join(entry for entry in sys.path if entry)[:_SHOWN_OF_ERROR]
    return f"install it, or put it into the folder plugins. The path is {folders}"


# Which modules connectors may name: for transforms those of ``FLOE_TRANSFORM_MODULES``, which the operator sets.


VARIABLE: Final = "FLOE_TRANSFORM_MODULES"
OWN_PACKAGES: Final = frozenset({"floe", "floe_job"})

_ENTRY: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\.\*)?", re.ASCII)
_EXAMPLE: Final = "my_module,my_package.*"


@dataclass(frozen=True)
class AllowedModules:
    """The entries of the list: ``package.module`` for one module, ``package.*`` for a package and all below it.

    ``variable``: of the environment, which has the list.
    """

    entries: tuple[str, ...] = ()
    variable: str = VARIABLE

    @classmethod
    def of(cls, environ: Mapping[str, str], variable: str = VARIABLE) -> AllowedModules:
        """Read the list. What is wrong with an entry is a problem of the modules that no other entry allows."""
        return cls(parse_list(environ.get(variable, "")), variable)

    @classmethod
    def present(cls, variable: str = VARIABLE) -> AllowedModules:
        """Read the list of this process."""
        return cls.of(os.environ, variable)

    def entry(self, module: str) -> str | None:
        """Return the first entry that allows a module; None if none does."""
        return next((entry for entry in self.entries if _ENTRY.fullmatch(entry) and _covers(entry, module)), None)

    def problem(self, module: str) -> str:
        """Return why a module that no entry allows may not be used."""
        wrong = next((entry for entry in self.entries if not _ENTRY.fullmatch(entry)), None)
        listed = ", ".join(self.entries)[:_SHOWN_CHARACTERS] or "none"
        hint = f"; {wrong[:_SHOWN_CHARACTERS]!r} in it is no module" if wrong is not None else ""
        return (
            f"the module {module[:_SHOWN_CHARACTERS]!r} is not allowed here, {self.variable} lists {listed}{hint}: the "
            f"operator lists it in the environment of Airflow, such as {self.variable}={_EXAMPLE}"
        )


NO_MODULES: Final = AllowedModules()


def _covers(entry: str, module: str) -> bool:
    package = entry.removesuffix(".*")
    return module == package or (package != entry and module.startswith(f"{package}."))
