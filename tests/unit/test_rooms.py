"""The code is in rooms of a size; the tests have the folders of the code, and each helper is imported one way."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.repository import ROOT

TESTS = ROOT / "tests"
NO_ROOMS = {"bench": "bench", "deploy": "deploy", "stack": "stack", "job": "spark_jobs/floe_job"}
"""Folders of unit tests of what is not in plugins/floe."""

FOLDERS = sorted(path.parent.relative_to(TESTS / "unit").as_posix() for path in (TESTS / "unit").rglob("*/test_*.py"))
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in TESTS.rglob("*.py"))
CODE = sorted(
    path for top in ("plugins", "spark_jobs", "stack", "bench", "dags") for path in (ROOT / top).rglob("*.py")
)
MAX_MODULES, MAX_LINES = 16, 300
"""Modules of a folder, besides ``__init__``, and lines of a module."""


@pytest.mark.parametrize("folder", sorted(set(FOLDERS)))
def test_folder_of_unit_tests_is_a_room(folder: str) -> None:
    first, _, rest = folder.partition("/")
    assert (ROOT / NO_ROOMS.get(first, f"plugins/floe/{first}") / rest).is_dir()


def test_helpers_are_imported_from_support_only() -> None:
    imports = {name: re.findall(r"^\s*from (\S+) import", (ROOT / name).read_text(), re.MULTILINE) for name in MODULES}
    wrong = {
        name: found
        for name, modules in imports.items()
        if (found := [module for module in modules if re.match(r"(tests\.\S*\.)?(test_|conftest)", module)])
    }
    assert wrong == {}


def test_folders_of_code_have_few_modules() -> None:
    modules = Counter(path.parent.relative_to(ROOT).as_posix() for path in CODE if path.name != "__init__.py")
    assert {folder: count for folder, count in modules.items() if count > MAX_MODULES} == {}


def test_modules_of_code_are_short() -> None:
    lines = {path.relative_to(ROOT).as_posix(): path.read_text().count("\n") for path in CODE}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_no_module_of_code_is_named_by_a_participle() -> None:
    assert [path.relative_to(ROOT).as_posix() for path in CODE if re.fullmatch("[a-z]+ed", path.stem)] == []


def test_no_folder_of_tests_has_more_than_16_modules() -> None:
    folders = Counter(Path(name).parent for name in MODULES if Path(name).name not in ("__init__.py", "conftest.py"))
    assert {str(folder): count for folder, count in folders.items() if count > 16} == {}


def test_no_module_of_tests_has_more_than_400_lines() -> None:
    lines = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in MODULES}
    assert {name: count for name, count in lines.items() if count > 400} == {}
