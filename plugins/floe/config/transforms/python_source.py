"""The source of transforms that users write in Python: found, read and hashed, and never run.

The configuration is read wherever a DAG file is parsed. A module of the user imports pyarrow and much else, takes seconds,
and may fail. So the class and its ``version`` are looked up in the syntax tree, where ``version`` has to be a literal number.
"""

import ast
import hashlib
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any, Final

MAX_FILES: Final = 1000
MAX_BYTES: Final = 10 << 20
MAX_VERSION: Final = 10**9

_CODING: Final = re.compile(r"(?:[^\n]*\n)?[ \t\f]*#[^\n]*?coding[:=](?![ \t]*utf-?8\b)", re.IGNORECASE)
_SHOWN_CHARACTERS: Final = 200


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
        problem = f"its module is no Python that this interpreter reads: {str(error)[:_SHOWN_CHARACTERS]}"
        raise SourceProblem(problem) from None
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    found = [node for node in classes if node.name == name]
    if len(found) != 1:
        names = ", ".join(node.name for node in classes)[:_SHOWN_CHARACTERS] or "none"
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
        problem = f"the source of {spec.name!r} cannot be read: {str(error)[:_SHOWN_CHARACTERS]}"
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
    folders = ", ".join(entry for entry in sys.path if entry)[:_SHOWN_CHARACTERS]
    return f"install it, or put it into the folder plugins. The path is {folders}"
