"""Expiry with a commit: what floe still needs stays, and history is known across the gaps."""

import logging

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from floe.model.ledger_codec import property_name, write_properties
from floe.model.offsets import OffsetRange
from floe.recovery.rollback import rolled_back, with_gained
from floe.tables import expiry
from floe.tables.exceptions import TableRefused
from floe.tables.history import LINKS, snapshot_property
from floe.tables.row_removal import check_no_shared_offsets
from floe.tables.snapshot_summary import committed_offsets, last_of_sink
from tests.support.tables.foreign_changes import expire_as_java_does, remove_older_metadata, roll_back
from tests.support.tables.lake import GROUP as OURS
from tests.support.tables.lake import TOPIC, TOPIC_ID, expected
from tests.support.tables.old_snapshots import AGE, COUNT, THEIRS, AgingLake
from tests.support.tables.wire import Wire


def test_ledger_of_idle_connector_stays_however_long(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    idle = aging.commit(0, 1, group=THEIRS, partition=7)
    aging.commit(*range(10))
    assert idle[-1] in aging.kept()
    assert idle[-1] in aging.history()
    assert len(aging.kept()) == 4
    (again,) = aging.commit(2, group=THEIRS, partition=7)
    assert aging.history()[0] == again
    aging.commit(*range(10, 16))
    assert len(aging.kept()) == 4
    assert aging.rows() == sorted([*expected((0, 16)), *expected((0, 3), partition=7)])


def test_rollback_is_found_after_snapshots_between_expired(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    (other,) = aging.commit(0, group="connect-first", partition=8)
    aging.commit(0, group=THEIRS, partition=7)
    aging.commit(*range(10))
    roll_back(aging, other)
    with pytest.raises(TableRefused, match="rolled back"):
        aging.commit(1, group=THEIRS, partition=7)


def test_while_a_rollback_is_not_decided_the_way_back_is_kept(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    aging.commit(0, group=THEIRS, partition=7)
    (fork,) = aging.commit(0)
    lost = aging.commit(1, 2, group=THEIRS, partition=7)
    roll_back(aging, fork)
    aging.commit(*range(1, 9))
    assert {fork, *lost} <= set(aging.kept())
    ledger = aging.held_by(THEIRS)
    found = rolled_back(aging.load(), "main", THEIRS, ledger)
    assert found is not None
    assert [list(offsets) for offsets in found.values()] == [[(1, 3)]]
    reopened = ledger.without(found)
    assert with_gained(aging.load(), "main", THEIRS, ledger, reopened) == reopened


def test_idle_connector_rows_are_not_reread_after_set_to_tag(aging: AgingLake) -> None:
    aging.create(properties=AGE)
    (idle,) = aging.commit(0, group=THEIRS, partition=7)
    _, tagged, _ = aging.commit(0, 1, 2)
    aging.set_ref("v1", tagged)
    aging.make_older(6)
    aging.commit(3)
    assert len(aging.kept()) == 3
    roll_back(aging, tagged)
    assert aging.history() == [tagged, idle]
    assert rolled_back(aging.load(), "main", THEIRS, aging.held_by(THEIRS)) is None
    aging.commit(1, group=THEIRS, partition=7)
    assert aging.rows() == sorted([*expected((0, 2)), *expected((0, 2), partition=7)])


def _cut_off_a_tagged_anchor(aging: AgingLake, partition: int) -> None:
    """Let others expire what leads from the head to the anchor of THEIRS, which a tag keeps."""
    aging.create()
    (theirs, between, _) = [*aging.commit(0, group=THEIRS, partition=partition), *aging.commit(1, 2)]
    aging.set_ref("v1", theirs)
    expire_as_java_does(aging, between)


def test_branch_history_before_foreign_expiry_is_not_lost(aging: AgingLake) -> None:
    _cut_off_a_tagged_anchor(aging, 7)
    assert rolled_back(aging.load(), "main", THEIRS, aging.held_by(THEIRS)) is None
    aging.commit(1, group=THEIRS, partition=7)
    assert aging.rows() == sorted([*expected((1, 3)), *expected((0, 2), partition=7)])


def test_branch_history_without_older_metadata_is_asked_for(aging: AgingLake) -> None:
    _cut_off_a_tagged_anchor(aging, 7)
    remove_older_metadata(aging)
    with pytest.raises(TableRefused, match="cannot find out which offsets it lost"):
        rolled_back(aging.load(), "main", THEIRS, aging.held_by(THEIRS))


def _set_back_and_forward_again(aging: AgingLake) -> tuple[int, list[int]]:
    """Take a rollback back when the first of the snapshots that it left behind has expired; return fork and others."""
    aging.create(properties={**AGE, "history.expire.min-snapshots-to-keep": "50"})
    (fork,) = aging.commit(0)
    before = aging.held_by()
    left = aging.commit(1, 2, 3)
    roll_back(aging, fork)
    aging.set_property(property_name(OURS, "main"), write_properties("x", before)["x"])
    aging.commit(1, partition=5)
    aging.make_older(6, left[0])
    aging.commit(2, partition=5)
    assert left[0] not in aging.kept()
    roll_back(aging, left[-1])
    return fork, left


def test_what_was_left_behind_still_leads_to_where_it_began(aging: AgingLake) -> None:
    fork, left = _set_back_and_forward_again(aging)
    assert aging.history() == [*left[:0:-1], fork]
    found = rolled_back(aging.load(), "main", OURS, aging.held_by()) or {}
    assert {log_id.partition: list(offsets) for log_id, offsets in found.items()} == {5: [(1, 3)]}


def test_rows_of_expired_snapshot_restored_are_not_missing(aging: AgingLake) -> None:
    fork, _ = _set_back_and_forward_again(aging)
    table, ledger = aging.load(), aging.held_by()
    assert ledger.anchor is not None
    with pytest.raises(TableRefused, match=f"between {fork} .*Set the branch to {ledger.anchor.snapshot_id} again"):
        with_gained(table, "main", OURS, ledger, ledger)


def test_a_ledger_that_was_taken_away_is_still_missed(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    aging.commit(0, group=THEIRS, partition=7)
    aging.set_property(property_name(THEIRS, "main"), None)
    aging.commit(*range(8))
    with pytest.raises(TableRefused, match="was removed"):
        aging.commit(1, group=THEIRS, partition=7)


def test_unreadable_ledger_keeps_everything_and_is_logged_once(
    aging: AgingLake, caplog: pytest.LogCaptureFixture
) -> None:
    aging.create(properties=COUNT)
    aging.set_property(property_name(THEIRS, "main"), '{"floe": 1, "pieces": 3}')
    with caplog.at_level(logging.WARNING):
        aging.commit(*range(6))
    assert len(aging.kept()) == 6
    assert [r.getMessage() for r in caplog.records if "no snapshot expires" in r.getMessage()][1:] == []
    assert "is not a ledger of floe" in caplog.text


def test_the_newest_word_of_a_sink_survives(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    table = aging.of_others()
    rows = pa.table({"kafka_partition": [9], "kafka_offset": [1], "sauce": ["x"]}).cast(
        schema_to_pyarrow(table.schema())
    )
    key = "kafka.connect.offsets.control-sink.connect-old"
    for end in (4, 5):
        table.append(rows, snapshot_properties={key: f'{{"0":{end}}}', "kafka.connect.task-id": "old-0"})
    aging.commit(*range(8))
    metadata = aging.load().metadata
    found = committed_offsets(metadata, "main", key)
    assert found.offsets == {0: 5}
    sinks = last_of_sink(metadata, "main", "connect-old", None)
    assert sinks is not None
    assert snapshot_property(sinks, key) == '{"0":5}'
    assert len(metadata.snapshots) == 4


def test_rows_of_idle_connector_are_not_replaced_unnoticed(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    aging.commit(0, group=THEIRS)
    aging.commit(*range(1, 9))
    with pytest.raises(TableRefused, match="another connector"):
        check_no_shared_offsets(aging.load(), "main", OURS, [OffsetRange(TOPIC, TOPIC_ID, 0, 0, 5)])


def test_nor_where_somebody_elses_expiry_left_a_gap(aging: AgingLake) -> None:
    _cut_off_a_tagged_anchor(aging, 0)
    with pytest.raises(TableRefused, match="another connector"):
        check_no_shared_offsets(aging.load(), "main", OURS, [OffsetRange(TOPIC, TOPIC_ID, 0, 0, 5)])


def test_commit_with_lost_answer_is_found_after_expiry_by_others(aging: AgingLake) -> None:
    aging.create(properties={"floe.expire.max-snapshots": "1"})
    written = aging.written_run(0)

    def lost(_: int) -> None:
        aging.commit(*range(3), group=THEIRS, partition=7)
        aging.commit(1)
        msg = "reset"
        raise ConnectionError(msg)

    wire = Wire(aging.catalog(), after=lost)
    committed = written.land(wire.catalog)
    assert committed.already
    assert (wire.sent, committed.snapshot_id) == (1, None)
    assert aging.rows() == sorted([*expected((0, 2)), *expected((0, 3), partition=7)])


def test_a_history_that_somebody_else_expired_does_no_harm(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    made = aging.commit(*range(3))
    expire_as_java_does(aging, made[0])
    made += aging.commit(*range(3, 7))
    assert aging.kept() == made[-3:]


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"1": null}', "null"])
def test_links_that_were_changed_by_hand_lead_nowhere(aging: AgingLake, text: str) -> None:
    aging.create(properties=COUNT)
    aging.commit(0, group=THEIRS, partition=7)
    aging.commit(*range(6))
    aging.set_property(LINKS, text)
    with pytest.raises(TableRefused, match="rolled back or replaced"):
        aging.commit(1, group=THEIRS, partition=7)
    before = aging.kept()
    (after,) = aging.commit(6)
    assert aging.kept() == [*before, after]


def test_links_in_a_circle_end(aging: AgingLake) -> None:
    aging.create()
    first, second = aging.commit(0, 1)
    aging.set_property(LINKS, f'{{"{first}":"{second}"}}')
    assert aging.history() == [second, first]


def test_more_links_than_a_property_takes_keep_everything(aging: AgingLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "MAX_VALUE_LENGTH", 10)
    aging.create(properties=COUNT)
    aging.commit(0, group=THEIRS, partition=7)
    aging.commit(*range(6))
    assert len(aging.kept()) == 7


def test_a_link_goes_when_nothing_is_behind_the_gap_any_more(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    aging.commit(0, group=THEIRS, partition=7)
    aging.commit(*range(6))
    assert LINKS in aging.load().properties
    aging.commit(1, group=THEIRS, partition=7)
    aging.commit(6, 7)
    aging.commit(2, group=THEIRS, partition=7)
    assert LINKS not in aging.load().properties
    assert len(aging.kept()) == 3
