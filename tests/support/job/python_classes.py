"""Transforms in Python, in modules of a test's own."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from textwrap import dedent, indent

import pytest

from floe.config.properties import Properties
from floe.config.sections.transforms import TransformSpec
from floe.config.transforms.python_class import PREFIX, VARIABLE, AllowedModules, PythonClass, read_python_class

FOLDER = Path(__file__).parent / "python_path"
if str(FOLDER) not in sys.path:
    sys.path.append(str(FOLDER))

HEAD = "import pyarrow as pa\nfrom floe_job.transform.own import Batch\n\n\n"


def python_class(path: str, allowed: str, **keys: str) -> PythonClass:
    """Read the settings of a class that is right."""
    problems: list[str] = []
    given = Properties({"type": PREFIX + path, **keys})
    options = read_python_class(problems, "x", "transforms.x.", given, AllowedModules(tuple(allowed.split(","))))
    assert options is not None, problems
    return options


def python_transform(path: str, allowed: str, **keys: str) -> TransformSpec:
    """Return a transform as a connector has it."""
    return TransformSpec("x", PREFIX + path, python_class(path, allowed, **keys))


def source(body: str, version: int = 1, name: str = "Own") -> str:
    """Return a module with one class whose ``apply(self, batch)`` has a body."""
    lines = indent(dedent(body).strip("\n"), " " * 8)
    head = f"    version = {version}\n\n    def __init__(self, options):\n        self.options = options\n\n"
    return f"{HEAD}class {name}:\n{head}    def apply(self, batch):\n{lines}\n"


class Modules:
    """A folder on Python's path, whose modules the operator allows."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._monkeypatch = monkeypatch
        monkeypatch.syspath_prepend(str(folder))
        monkeypatch.setattr(sys, "dont_write_bytecode", True)  # of two versions of a file in one second

    def write(self, name: str, text: str) -> Path:
        """Write ``package.module`` and the packages above it."""
        path = self._folder.joinpath(*name.split(".")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        for parent in path.parents:
            if parent == self._folder:
                break
            (parent / "__init__.py").touch()
        path.write_text(text)
        importlib.invalidate_caches()
        return path

    def allow(self, *entries: str) -> None:
        """Set the operator's list."""
        self._monkeypatch.setenv(VARIABLE, ",".join(entries))
