"""The tests have the folders of the code, and each helper is imported one way."""

import re

import pytest

from tests.support.repository import ROOT

TESTS = ROOT / "tests"
NO_ROOMS = {"bench": "bench", "deploy": "deploy", "stack": "stack", "job": "spark_jobs/floe_job"}
"""Folders of unit tests of what is not in plugins/floe."""

FOLDERS = sorted(path.parent.relative_to(TESTS / "unit").as_posix() for path in (TESTS / "unit").rglob("*/test_*.py"))
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in TESTS.rglob("*.py"))


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
