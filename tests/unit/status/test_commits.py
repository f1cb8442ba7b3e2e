"""Rows of a table, by the summary of a branch's head."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from floe.status.tables import rows_of


def metadata(summary: dict[str, str] | None, branch: str = "main") -> Any:
    head = SimpleNamespace(summary=None if summary is None else SimpleNamespace(additional_properties=summary))
    ref = SimpleNamespace(snapshot_id=1)
    return SimpleNamespace(refs={branch: ref}, snapshots=[head], snapshot_by_id=lambda _: head)


@pytest.mark.parametrize(
    ("summary", "rows"),
    [
        ({"total-records": "7"}, 7),
        ({"total-records": "7", "total-position-deletes": "3", "total-equality-deletes": "0"}, 4),
        ({"total-records": "0"}, 0),
        ({"total-records": "7", "total-equality-deletes": "1"}, None),
        ({}, None),
        (None, None),
        ({"total-records": "seven"}, None),
        ({"total-records": "-7"}, None),
        ({"total-records": "7" * 30}, None),
        ({"total-records": "7", "total-position-deletes": "9"}, 0),
        ({"total-records": "7", "total-position-deletes": "no"}, 7),
    ],
)
def test_rows_are_those_of_the_head_without_deleted_ones(summary: dict[str, str] | None, rows: int | None) -> None:
    assert rows_of(metadata(summary), "main") == rows


def test_branch_that_is_not_there_has_no_number_but_that_of_an_empty_table() -> None:
    assert rows_of(metadata({"total-records": "7"}), "audit") is None
    assert rows_of(SimpleNamespace(refs={}, snapshots=[]), "main") == 0  # type: ignore[arg-type]
