"""The table of docs/internals/security-model.md: every cell says what holds, and the tests that it names exist."""

import re

from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "internals" / "security-model.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| **")]
ACTORS = {
    "triggers a DAG",
    "writes records",
    "writes to the control topic",
    "writes connector files",
    "alters tables",
    "reads logs, XCom, DAG pages, metadata",
    "edits XCom or task state",
}


def test_every_actor_has_a_row_of_whole_cells() -> None:
    assert {re.sub(r"\*\*(.+)\*\*.*", r"\1", row[0]) for row in ROWS} >= ACTORS
    assert {len(row) for row in ROWS} == {7}


def test_every_cell_says_what_holds() -> None:
    for actor, *cells in ROWS:
        for cell in cells:
            assert re.match(r"—$|may\b|\*\*not defended\*\*", cell), (actor, cell)
            if cell.startswith("may not"):
                assert "`test_" in cell, (actor, cell)


def test_what_is_not_defended_has_its_reason() -> None:
    asked = set(re.findall(r"\*\*not defended\*\* \[(\d)\]", PAGE))
    given = set(re.findall(r"^(\d)\. \*\*", PAGE, re.MULTILINE))
    assert asked == given
    assert PAGE.count("**not defended**") == len(re.findall(r"\*\*not defended\*\* \[\d\]", PAGE)) + 1


def test_every_test_that_is_named_exists() -> None:
    modules = {path.stem for path in (ROOT / "tests").rglob("test_*.py")}
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert named
    assert named <= modules, named - modules
