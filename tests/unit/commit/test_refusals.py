"""Tables that are not the ones that were written for, and histories that do not lead to the ledger."""

from typing import Any
from uuid import uuid4

import pytest

from floe.exceptions import Terminal
from floe.model.exceptions import LedgerUnreadable
from floe.model.ledger import Ledger
from floe.model.ledger_codec import write_properties
from floe.tables.exceptions import TableRefused
from tests.support.tables.foreign_changes import (
    append_foreign,
    expire_as_java_does,
    remove_older_metadata,
    rewrite_metadata,
    roll_back,
)
from tests.support.tables.lake import CLUSTER, LEDGER, TABLE, Lake, expected, head
from tests.support.tables.slices import Write, Written
from tests.support.tables.wire import Wire, once

WAYS_OUT = r'rolled_back={"rpc\.pizzas": "replay"}.*"accept"'


def refuses(written: Written, match: str) -> None:
    """Land, be refused, and have left the table as it was."""
    lake = written.lake
    before = lake.load().metadata_location
    with pytest.raises(TableRefused, match=match) as caught:
        written.land()
    assert isinstance(caught.value, Terminal)
    assert TABLE in str(caught.value)
    assert lake.load().metadata_location == before


# -- another table ----------------------------------------------------------------------------------------------------


def test_a_table_dropped_after_it_was_written_for_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    lake.catalog().drop_table(TABLE)
    with pytest.raises(TableRefused, match=r"'rpc\.pizzas' was dropped.*next plan asks"):
        written.land()


def test_table_dropped_between_load_and_commit_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    client = lake.catalog()
    Wire(client, before=once(lambda: lake.catalog().drop_table(TABLE)))
    with pytest.raises(TableRefused, match="was dropped"):
        written.land(client)


def test_a_table_with_another_uuid_is_refused(lake: Lake, write: Write) -> None:
    table = lake.create()
    written = write((0, 0, 5))
    lake.catalog().drop_table(TABLE)
    lake.create()
    refuses(written, rf"was replaced.*for UUID {table.metadata.table_uuid}.*next plan asks")
    assert lake.rows() == []


def test_table_replaced_between_load_and_commit_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    client = lake.catalog()

    def replace() -> None:
        lake.catalog().drop_table(TABLE)
        lake.create()

    Wire(client, before=once(replace))
    with pytest.raises(TableRefused, match="was replaced"):
        written.land(client)
    assert lake.rows() == []


def test_an_announcement_for_a_table_without_uuid_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    refuses(
        written.with_share(reference=written.table_files.reference.__class__("iceberg", ("rpc",), "pizzas")), "replaced"
    )
    other = written.table_files.reference.__class__("iceberg", ("rpc",), "pizzas", uuid4())
    refuses(written.with_share(reference=other), "replaced")


@pytest.mark.parametrize(
    ("name", "value", "needed"),
    [
        ("commit.manifest.min-count-to-merge", "x", "a whole number is needed"),
        ("commit.manifest.target-size-bytes", "8MB", "a whole number is needed"),
        ("write.metadata.previous-versions-max", "x", "a whole number is needed"),
        ("write.summary.partition-limit", "x", "a whole number is needed"),
        ("commit.manifest-merge.enabled", "maybe", "true or false is needed"),
        ("write.metadata.delete-after-commit.enabled", "maybe", "true or false is needed"),
    ],
)
def test_properties_that_allow_no_commit_are_refused_by_name(
    lake: Lake, write: Write, name: str, value: str, needed: str
) -> None:
    lake.create(properties={name: value})
    refuses(write((0, 0, 5)), rf"{name} '{value}': {needed}\. Set or unset")


def test_a_ledger_of_another_cluster_is_refused(lake: Lake, write: Write) -> None:
    lake.create(properties=write_properties(LEDGER, Ledger("C0")))
    lake.load()
    with pytest.raises(TableRefused, match=r"cluster 'C0'.*'C1'.*Kafka connection.*reset_topics=\[\"\*\"\]"):
        write((0, 0, 5))
    assert CLUSTER == "C1"


def test_a_ledger_changed_by_hand_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    lake.load().transaction().set_properties(**{LEDGER: "{}"}).commit_transaction()
    with pytest.raises(LedgerUnreadable):
        written.land()
    assert lake.rows() == []


# -- another history --------------------------------------------------------------------------------------------------


def test_rollback_to_our_older_snapshot_is_refused_with_both_ids(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    second = write((0, 5, 9), plan_id="plan-2").land()
    waiting = write((0, 9, 12), plan_id="plan-3")
    roll_back(lake, first.snapshot_id or 0)
    again = rf"Set the branch to {second.snapshot_id} again"
    refuses(waiting, rf"rolled back.*{first.snapshot_id}.*{second.snapshot_id}.*{again}.*{WAYS_OUT}")
    assert lake.rows() == expected((0, 5))


def test_rolled_back_table_does_not_count_its_lost_slice(lake: Lake, write: Write) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    second = write((0, 5, 9), plan_id="plan-2")
    second.land()
    roll_back(lake, first.snapshot_id or 0)
    refuses(second, "rolled back")


def test_rollback_to_foreign_snapshot_before_ours_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    before = head(lake)
    ours = write((0, 0, 5)).land()
    waiting = write((0, 5, 9), plan_id="plan-2")
    roll_back(lake, before)
    refuses(waiting, rf"{ours.snapshot_id}")


def test_rollback_with_expired_older_history_is_still_a_rollback(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    oldest = head(lake)
    append_foreign(lake, 2)
    before = head(lake)
    ours = write((0, 0, 5)).land()
    waiting = write((0, 5, 9), plan_id="plan-2")
    roll_back(lake, before)
    expire_as_java_does(lake, oldest)
    refuses(waiting, rf"{ours.snapshot_id}")
    expire_as_java_does(lake, ours.snapshot_id or 0)
    refuses(waiting, rf"{ours.snapshot_id}")


def test_a_table_replaced_under_its_uuid_is_refused(lake: Lake, write: Write) -> None:
    """As by CREATE OR REPLACE TABLE: the UUID and the properties stay, the new head has no parent."""
    lake.create()
    ours = write((0, 0, 5)).land()
    waiting = write((0, 5, 9), plan_id="plan-2")
    append_foreign(lake, 1)

    def orphan(metadata: dict[str, Any]) -> None:
        metadata["snapshots"][-1].pop("parent-snapshot-id")

    rewrite_metadata(lake, orphan)
    refuses(waiting, rf"replaced.*{ours.snapshot_id}.*{WAYS_OUT}")


def test_a_table_without_its_main_branch_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    waiting = write((0, 5, 9), plan_id="plan-2")

    def cut(metadata: dict[str, Any]) -> None:
        metadata["refs"], metadata["current-snapshot-id"] = {}, None

    rewrite_metadata(lake, cut)
    refuses(waiting, "emptied")


def test_removed_ledger_is_refused_while_our_snapshots_exist(lake: Lake, write: Write) -> None:
    lake.create()
    ours = write((0, 0, 5)).land()
    waiting = write((0, 5, 9), plan_id="plan-2")
    lake.load().transaction().remove_properties(LEDGER).commit_transaction()
    refuses(waiting, rf"{ours.snapshot_id}.*{LEDGER}.*Set the property again")


def test_foreign_snapshots_above_the_anchor_do_not_matter(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    append_foreign(lake, 1)
    append_foreign(lake, 2)
    write((0, 5, 9), plan_id="plan-2").land()
    assert lake.rows() == [*expected((0, 9)), (99, 1), (99, 2)]


def test_anchor_as_parent_of_oldest_kept_snapshot_is_accepted(
    lake: Lake, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    lake.create()
    ours = write((0, 0, 5)).land()
    append_foreign(lake, 1)
    expire_as_java_does(lake, ours.snapshot_id or 0)
    write((0, 3, 9), plan_id="plan-2").land()
    assert lake.rows() == [*expected((0, 9)), (99, 1)]
    assert "expired" not in caplog.text


def test_an_anchor_that_expired_is_said_and_passed_over(
    lake: Lake, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    lake.create()
    ours = write((0, 0, 5)).land()
    append_foreign(lake, 1)
    first_foreign = head(lake)
    append_foreign(lake, 2)
    expire_as_java_does(lake, ours.snapshot_id or 0, first_foreign)
    write((0, 3, 9), plan_id="plan-2").land()
    assert lake.rows() == [*expected((0, 9)), (99, 1), (99, 2)]
    assert f"snapshot {ours.snapshot_id}, which the ledger refers to, has expired" in caplog.text


def test_tagged_anchor_with_expired_descendants_is_accepted(
    lake: Lake, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    lake.create()
    ours = write((0, 0, 5)).land()
    lake.of_others().manage_snapshots().create_tag(ours.snapshot_id or 0, "monday").commit()
    append_foreign(lake, 1)
    first_foreign = head(lake)
    append_foreign(lake, 2)
    expire_as_java_does(lake, first_foreign)
    write((0, 3, 9), plan_id="plan-2").land()
    assert lake.rows() == [*expected((0, 9)), (99, 1), (99, 2)]
    assert f"the history before snapshot {ours.snapshot_id}, which the ledger refers to, has expired" in caplog.text


def test_rollback_past_tagged_anchor_with_expired_gap_is_refused(lake: Lake, write: Write) -> None:
    lake.create()
    append_foreign(lake, 1)
    before = head(lake)
    append_foreign(lake, 2)
    at = head(lake)
    ours = write((0, 0, 5)).land()
    waiting = write((0, 5, 9), plan_id="plan-2")
    lake.of_others().manage_snapshots().create_tag(ours.snapshot_id or 0, "monday").commit()
    roll_back(lake, at)
    append_foreign(lake, 3)
    expire_as_java_does(lake, before, at)
    refuses(waiting, rf"{ours.snapshot_id}.*{WAYS_OUT}")


def test_expired_anchor_without_older_metadata_is_refused(lake: Lake, write: Write) -> None:
    """A table that was rolled back and then expired looks just the same."""
    lake.create()
    ours = write((0, 0, 5)).land()
    waiting = write((0, 5, 9), plan_id="plan-2")
    append_foreign(lake, 1)
    first_foreign = head(lake)
    append_foreign(lake, 2)
    expire_as_java_does(lake, ours.snapshot_id or 0, first_foreign)
    remove_older_metadata(lake)
    refuses(waiting, rf"{ours.snapshot_id}.*{WAYS_OUT}")


def test_history_below_the_anchor_may_expire(lake: Lake, write: Write, caplog: pytest.LogCaptureFixture) -> None:
    lake.create()
    first = write((0, 0, 5)).land()
    write((0, 5, 9), plan_id="plan-2").land()
    lake.of_others().maintenance.expire_snapshots().by_id(first.snapshot_id or 0).commit()
    write((0, 9, 12), plan_id="plan-3").land()
    assert lake.rows() == expected((0, 12))
    assert "expired" not in caplog.text


def test_anchor_expired_by_pyiceberg_is_refused_as_replaced(lake: Lake, write: Write) -> None:
    """PyIceberg's own expiry takes the parent id out of the next snapshot: nothing tells it from a replaced table."""
    lake.create()
    ours = write((0, 0, 5)).land()
    append_foreign(lake, 1)
    waiting = write((0, 5, 9), plan_id="plan-2")
    lake.of_others().maintenance.expire_snapshots().by_id(ours.snapshot_id or 0).commit()
    refuses(waiting, rf"{ours.snapshot_id}")
