"""Names of tests are short enough to be read."""

import ast

from tests.support.repository import ROOT

LIMIT = 60


def test_no_test_name_is_longer_than_60_characters() -> None:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("test_*.py")}
    names = {
        f"{path.relative_to(ROOT)}::{node.name}"
        for path, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_") and len(node.name) > LIMIT
    }
    assert not names
