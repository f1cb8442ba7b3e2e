"""Replays that append: a range is added again, once for each request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.runs.pipeline import Pipeline
from tests.support.runs.replays import drop, opened, replay


def test_append_stops_at_uncommitted_slice_and_continues_there(
    eaten: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    import floe.commit.slice_commit as landing
    from floe.tables.exceptions import TableNotCommitted

    plan, effective = opened(eaten, ranges={"0": [0, 12]}, overlap="append", max_records=4)
    effective.write(plan)
    real, calls = landing.commit_table, []

    def fails_once(*args: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            msg = "conflicts for as long as anybody waited"
            raise TableNotCommitted(msg)
        return real(*args)

    monkeypatch.setattr(landing, "commit_table", fails_once)
    with pytest.raises(TableNotCommitted):
        effective.commit(plan)
    assert eaten.column("id") == list(range(300)), "a later slice landed before an earlier one: its id hides the gap"
    effective.commit(plan)
    assert eaten.column("id") == sorted([*range(300), *range(12)])


def test_append_into_empty_table_is_in_ledger_afterwards(eaten: Pipeline) -> None:
    drop(eaten)
    replay(eaten, ranges={"0": [0, 50]}, overlap="append")
    replay(eaten)
    assert eaten.column("id") == list(range(300))
