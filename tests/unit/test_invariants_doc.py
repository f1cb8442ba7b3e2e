"""The table of invariants in docs/internals/exactly-once.md: eight, each with tests of both kinds, and all of them exist."""

import re

import pytest

from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "internals" / "exactly-once.md").read_text(encoding="utf-8")
TABLE = PAGE.split("## The invariants, and their tests", 1)[1].split("\n## ", 1)[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines() if re.match(r"\| \d", line)
]
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_*.py")
    for name in (
        path.stem,
        *(f"{path.stem}::{test}" for test in re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE)),
    )
}


def test_invariants_are_numbered_and_of_four_cells() -> None:
    assert [row[0] for row in ROWS] == [str(number) for number in range(1, 9)]
    assert {len(row) for row in ROWS} == {4}


@pytest.mark.parametrize(("number", "cell"), [(row[0], cell) for row in ROWS for cell in row[2:]])
def test_tests_that_are_named_for_an_invariant_exist(number: str, cell: str) -> None:
    named = set(re.findall(r"`([^`]+)`", cell))
    assert named, number
    assert named <= TESTS, named - TESTS
