"""The sink's snapshot property: found in the nearest ancestor, raised, or unknown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from floe.model.ledger import Anchor
from floe.tables.change import append_files
from floe.tables.snapshot_commit import commit_change
from floe.tables.snapshot_summary import (
    CommittedOffsets,
    committed_offsets,
    last_of_sink,
    offsets_property,
    raised,
    topic_in_use,
)
from tests.support.tables.foreign_changes import append_foreign, rewrite_metadata
from tests.support.tables.lake import GROUP, Lake, head

NAME = offsets_property("control-iceberg", GROUP)


def commit_as_the_sink(lake: Lake, offsets: dict[str, int], name: str = NAME, branch: str = "main") -> None:
    lake.load().append(_no_rows(lake), {name: json.dumps(offsets)}, branch=branch)


def _no_rows(lake: Lake) -> Any:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return schema_to_pyarrow(lake.load().schema()).empty_table()


@pytest.fixture
def table(lake: Lake) -> Lake:
    lake.create()
    return lake


def found(lake: Lake, branch: str = "main") -> CommittedOffsets:
    return committed_offsets(lake.load().metadata, branch, NAME)


def test_table_without_snapshots_has_no_control_offsets(table: Lake) -> None:
    assert found(table) == ({}, True)


def test_a_table_that_others_wrote_to_has_nothing_either(table: Lake) -> None:
    append_foreign(table, 1)
    append_foreign(table, 2)
    assert found(table) == ({}, True)


def test_the_nearest_ancestor_tells_whatever_came_after_it(table: Lake) -> None:
    commit_as_the_sink(table, {"0": 3})
    commit_as_the_sink(table, {"0": 5, "1": 7})
    commit_as_the_sink(table, {"0": 99}, offsets_property("control-iceberg", "connect-other"))
    append_foreign(table, 1)
    assert found(table) == ({0: 5, 1: 7}, True)


def test_a_branch_that_does_not_exist_yet_has_what_main_has(table: Lake) -> None:
    commit_as_the_sink(table, {"0": 3})
    assert found(table, "audit") == ({0: 3}, True)


def test_a_branch_has_what_its_own_history_tells(table: Lake) -> None:
    commit_change(table.load(), append_files(table.load(), "main", {}, ()))
    commit_as_the_sink(table, {"0": 3}, branch="audit")
    commit_as_the_sink(table, {"0": 9})
    assert found(table, "audit") == ({0: 3}, True)


@pytest.mark.parametrize("parent", ["kept", "forgotten"])
def test_expired_snapshots_leave_it_unknown(table: Lake, parent: str) -> None:
    commit_as_the_sink(table, {"0": 3})
    append_foreign(table, 1)

    def expire(fields: dict[str, Any]) -> None:
        fields["snapshots"] = fields["snapshots"][1:]
        fields["snapshot-log"] = fields["snapshot-log"][1:]
        if parent == "forgotten":  # as PyIceberg's own expiry does
            del fields["snapshots"][0]["parent-snapshot-id"]

    rewrite_metadata(table, expire)
    assert found(table) == ({}, False)


@pytest.mark.parametrize(
    ("offsets", "ends", "text"),
    [
        ({}, {}, "{}"),
        ({0: 3}, {0: 5, 1: 0}, '{"0":5,"1":0}'),
        ({0: 9, 10: 1, 2: 4}, {0: 5}, '{"0":9,"2":4,"10":1}'),
    ],
)
def test_offsets_are_raised_and_never_lowered(offsets: dict[int, int], ends: dict[int, int], text: str) -> None:
    assert raised(offsets, ends) == text


def test_control_topic_is_named_by_newest_snapshot_of_group(table: Lake) -> None:
    assert topic_in_use(table.load().metadata, "main", GROUP) is None
    commit_as_the_sink(table, {"0": 3}, offsets_property("old.topic", GROUP))
    commit_as_the_sink(table, {"0": 3}, offsets_property("new-topic", "connect-other"))
    assert topic_in_use(table.load().metadata, "main", GROUP) == "old.topic"
    commit_as_the_sink(table, {"0": 3})
    assert topic_in_use(table.load().metadata, "main", GROUP) == "control-iceberg"


def test_what_the_sink_wrote_behind_a_ledger_s_back_is_found(table: Lake) -> None:
    def last(anchor: Anchor | None) -> int | None:
        snapshot = last_of_sink(table.load().metadata, "main", GROUP, anchor)
        return snapshot.snapshot_id if snapshot is not None else None

    assert last(None) is None
    commit_as_the_sink(table, {"0": 3})
    first = head(table)
    append_foreign(table, 1)
    commit_as_the_sink(table, {"0": 3}, offsets_property("control-iceberg", "connect-other"))
    assert last(None) == first
    assert last(Anchor(first, 1)) is None
    table.load().append(_no_rows(table), {NAME: "{}", "floe.group": GROUP})
    floes = head(table)
    assert last(Anchor(floes, 4)) is None
    commit_as_the_sink(table, {"0": 9})
    assert last(Anchor(floes, 4)) == head(table)
