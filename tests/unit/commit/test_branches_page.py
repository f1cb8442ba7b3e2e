"""What docs/how-to/branches.md says, done block by block on a table that floe commits to."""

from __future__ import annotations

import re
from typing import Any

import pytest

from floe.tables.exceptions import TableRefused
from tests.support.repository import DOCS
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import GROUP, Lake, expected, head
from tests.support.tables.slices import Write

PAGE = (DOCS / "how-to" / "branches.md").read_text()
BLOCKS = [
    re.sub(r"(?m)^   ", "", block) for block in re.findall(r"(?s)( *)```python\n(.*?)```", PAGE) for block in block[1:]
]


def block(part: str) -> str:
    (found,) = [one for one in BLOCKS if part in one]
    return found


def follow(part: str, lake: Lake, **names: Any) -> dict[str, Any]:
    """Run the block that has this text, on the table as it is now."""
    scope = {"table": lake.load(), "group": GROUP, **names}
    exec(compile(block(part), "branches.md", "exec"), scope)  # noqa: S102 - a page of this repository
    return scope


def test_rollback_is_noticed_and_can_be_taken_back(
    lake: Lake, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    lake.create()
    write((0, 0, 5)).land()
    first = head(lake)
    write((0, 5, 9), plan_id="plan-2").land()
    newest = head(lake)
    follow("table.snapshots()", lake)
    assert str(first) in (shown := capsys.readouterr().out) and GROUP in shown
    follow("rollback_to_snapshot", lake, snapshot_id=first)
    assert lake.rows() == expected((0, 5))
    with pytest.raises(TableRefused, match="was rolled back") as refused:
        write((0, 9, 12), plan_id="plan-3")
    assert str(newest) in str(refused.value) and "rolled_back=" in str(refused.value)
    follow("set_current_snapshot(newest_id)", lake, newest_id=newest)
    write((0, 9, 12), plan_id="plan-4").land()
    assert lake.rows() == expected((0, 12))


def test_branch_is_published_as_often_as_its_reader_likes(lake: Lake, write: Write) -> None:
    lake.create()
    for number, (start, end) in enumerate([(0, 5), (5, 9), (9, 12)]):
        write((0, start, end), plan_id=f"plan-{number}", branch="audit").land()
        assert follow("snapshot_by_name", lake)["rows"].num_rows == end
        assert lake.rows() == (expected((0, start)) if start else [])
        follow('ref_name="audit"', lake)
        assert lake.rows() == expected((0, end))


def test_main_goes_on_with_the_ledger_of_a_published_branch(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5), branch="audit").land()
    follow('ref_name="audit"', lake)
    with pytest.raises(TableRefused, match=r"branch 'main' .* committed to branch 'audit'.*how-to/branches") as refused:
        write((0, 5, 9), plan_id="plan-2")
    assert refused.value.code == "FLOE-410"
    follow("of_branch", lake)
    write((0, 5, 9), plan_id="plan-3").land()
    assert not write((0, 5, 9), plan_id="plan-4").files
    assert lake.rows() == expected((0, 9))


def test_branch_that_others_made_before_the_last_commits_names_where_they_are(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    lake.load().manage_snapshots().create_branch(head(lake), "audit").commit()
    append_foreign(lake, 1)
    write((0, 5, 7), plan_id="plan-2").land()
    with pytest.raises(TableRefused, match=r"branch 'audit' .* committed to branch 'main'"):
        write((0, 0, 9), plan_id="plan-3", branch="audit")
    lake.load().manage_snapshots().remove_branch("audit").commit()
    write((0, 7, 9), plan_id="plan-4", branch="audit").land()
    assert lake.rows("audit") == [*expected((0, 9)), (99, 1)]


def test_dag_on_the_tables_asset_is_one_that_airflow_reads() -> None:
    from airflow.sdk.definitions.dag import DAG

    scope: dict[str, Any] = {}
    exec(compile(block("after_visits"), "branches.md", "exec"), scope)  # noqa: S102 - a page of this repository
    dag = scope["after_visits"]()
    assert isinstance(dag, DAG) and dag.dag_id == "after_visits" and "iceberg://demo/rpc/visits" in repr(dag.timetable)
