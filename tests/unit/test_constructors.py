"""A constructor takes what it needs, finished: connections, files and processes are opened by class methods and functions."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

PACKAGES = ("plugins", "spark_jobs", "stack", "bench")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
CONSTRUCTORS = {"__init__", "__post_init__"}
CLIENTS = {"Consumer", "Producer", "AdminClient", "SqlCatalog", "load_catalog", "build_opener"}
"""What opens a connection, or makes the client that does."""

OPENERS = {"open", "open_client", "connect", "of_control", "of_source", "create_connection", "urlopen", "Popen", "run"}
FILES = {"mkdir", "touch", "unlink", "read_text", "read_bytes", "write_text", "write_bytes", "iterdir", "free_port"}
ALLOWED = {("stack", "Rest", "build_opener")}
"""urllib's opener connects only when it is used."""


def _calls(module: Path) -> Iterator[tuple[str, str, str]]:
    for class_ in ast.walk(ast.parse(module.read_text())):
        for method in class_.body if isinstance(class_, ast.ClassDef) else ():
            if isinstance(class_, ast.ClassDef) and isinstance(method, ast.FunctionDef) and method.name in CONSTRUCTORS:
                for call in ast.walk(method):
                    if isinstance(call, ast.Call):
                        name = ast.unparse(call.func).rsplit(".", 1)[-1]
                        yield module.relative_to(ROOT).parts[0], class_.name, name


@pytest.mark.parametrize("package", PACKAGES)
def test_constructors_open_nothing(package: str) -> None:
    found = {call for module in MODULES if module.is_relative_to(ROOT / package) for call in _calls(module)}
    wrong = {call for call in found if call[2] in CLIENTS | OPENERS | FILES}
    assert wrong - ALLOWED == set()
