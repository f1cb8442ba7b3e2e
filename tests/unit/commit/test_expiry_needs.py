"""Expiry with a commit: what floe still needs stays, and history is told across the gaps."""

import logging

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

from floe.commit import expiry
from floe.commit.ancestry import LINKS, snapshot_property
from floe.commit.control_offsets import committed_offsets, last_of_sink
from floe.commit.exceptions import TableRefused
from floe.commit.removal import refuse_shared_offsets
from floe.commit.rollback import rolled_back, with_gained
from floe.offsets.ledger_property import property_name, write_properties
from floe.offsets.ranges import OffsetRange
from tests.unit.commit.lake import (
    GROUP as OURS,
)
from tests.unit.commit.lake import (
    TOPIC,
    TOPIC_ID,
    Lake,
    Wire,
    expected,
    expire_as_java_does,
    roll_back,
)
from tests.unit.commit.old_snapshots import (
    AGE,
    COUNT,
    THEIRS,
    commit,
    held_by,
    history,
    kept,
    make_older,
    set_property,
    set_ref,
    written_run,
)


def test_another_connectors_ledger_stands_however_long_it_was_idle(lake: Lake) -> None:
    lake.create(properties=COUNT)
    idle = commit(lake, 0, 1, group=THEIRS, partition=7)
    commit(lake, *range(10))
    assert idle[-1] in kept(lake)
    assert idle[-1] in history(lake)
    assert len(kept(lake)) == 4
    (again,) = commit(lake, 2, group=THEIRS, partition=7)
    assert history(lake)[0] == again
    commit(lake, *range(10, 16))
    assert len(kept(lake)) == 4
    assert lake.rows() == sorted([*expected((0, 16)), *expected((0, 3), partition=7)])


def test_a_rollback_is_still_found_after_snapshots_between_have_expired(lake: Lake) -> None:
    lake.create(properties=COUNT)
    (other,) = commit(lake, 0, group="connect-first", partition=8)
    commit(lake, 0, group=THEIRS, partition=7)
    commit(lake, *range(10))
    roll_back(lake, other)
    with pytest.raises(TableRefused, match="rolled back"):
        commit(lake, 1, group=THEIRS, partition=7)


def test_while_a_rollback_is_not_decided_the_way_back_is_kept(lake: Lake) -> None:
    lake.create(properties=COUNT)
    commit(lake, 0, group=THEIRS, partition=7)
    (fork,) = commit(lake, 0)
    lost = commit(lake, 1, 2, group=THEIRS, partition=7)
    roll_back(lake, fork)
    commit(lake, *range(1, 9))
    assert {fork, *lost} <= set(kept(lake))
    ledger = held_by(lake, THEIRS)
    found = rolled_back(lake.load(), "main", THEIRS, ledger)
    assert found is not None
    assert [list(offsets) for offsets in found.values()] == [[(1, 3)]]
    reopened = ledger.without(found)
    assert with_gained(lake.load(), "main", THEIRS, ledger, reopened) == reopened


def test_the_rows_of_an_idle_connector_are_not_read_again_when_main_is_set_back_to_a_tag(lake: Lake) -> None:
    lake.create(properties=AGE)
    (idle,) = commit(lake, 0, group=THEIRS, partition=7)
    _, tagged, _ = commit(lake, 0, 1, 2)
    set_ref(lake, "v1", tagged)
    make_older(lake, 6)
    commit(lake, 3)
    assert len(kept(lake)) == 3
    roll_back(lake, tagged)
    assert history(lake) == [tagged, idle]
    assert rolled_back(lake.load(), "main", THEIRS, held_by(lake, THEIRS)) is None
    commit(lake, 1, group=THEIRS, partition=7)
    assert lake.rows() == sorted([*expected((0, 2)), *expected((0, 2), partition=7)])


def test_what_a_branch_may_have_led_to_before_somebody_elses_expiry_is_not_lost(lake: Lake) -> None:
    lake.create()
    (theirs, between, _) = [*commit(lake, 0, group=THEIRS, partition=7), *commit(lake, 0, 1)]
    set_ref(lake, "v1", theirs)
    expire_as_java_does(lake, between)
    assert rolled_back(lake.load(), "main", THEIRS, held_by(lake, THEIRS)) == {}


def _set_back_and_forward_again(lake: Lake) -> tuple[int, list[int]]:
    """Take a rollback back when the first of the snapshots that it left behind has expired; return fork and others."""
    lake.create(properties={**AGE, "history.expire.min-snapshots-to-keep": "50"})
    (fork,) = commit(lake, 0)
    before = held_by(lake)
    left = commit(lake, 1, 2, 3)
    roll_back(lake, fork)
    set_property(lake, property_name(OURS, "main"), write_properties("x", before)["x"])
    commit(lake, 1, partition=5)
    make_older(lake, 6, left[0])
    commit(lake, 2, partition=5)
    assert left[0] not in kept(lake)
    roll_back(lake, left[-1])
    return fork, left


def test_what_was_left_behind_still_leads_to_where_it_began(lake: Lake) -> None:
    fork, left = _set_back_and_forward_again(lake)
    assert history(lake) == [*left[:0:-1], fork]
    found = rolled_back(lake.load(), "main", OURS, held_by(lake)) or {}
    assert {log_id.partition: list(offsets) for log_id, offsets in found.items()} == {5: [(1, 3)]}


def test_rows_of_an_expired_snapshot_that_are_there_again_are_not_taken_for_missing(lake: Lake) -> None:
    fork, _ = _set_back_and_forward_again(lake)
    table, ledger = lake.load(), held_by(lake)
    assert ledger.anchor is not None
    with pytest.raises(
        TableRefused, match=f"from snapshot {fork} .*Set the branch to {ledger.anchor.snapshot_id} again"
    ):
        with_gained(table, "main", OURS, ledger, ledger)


def test_a_ledger_that_was_taken_away_is_still_missed(lake: Lake) -> None:
    lake.create(properties=COUNT)
    commit(lake, 0, group=THEIRS, partition=7)
    set_property(lake, property_name(THEIRS, "main"), None)
    commit(lake, *range(8))
    with pytest.raises(TableRefused, match="somebody removed it"):
        commit(lake, 1, group=THEIRS, partition=7)


def test_a_ledger_that_cannot_be_read_keeps_everything_and_is_said_once(
    lake: Lake, caplog: pytest.LogCaptureFixture
) -> None:
    lake.create(properties=COUNT)
    set_property(lake, property_name(THEIRS, "main"), '{"floe": 1, "pieces": 3}')
    with caplog.at_level(logging.WARNING):
        commit(lake, *range(6))
    assert len(kept(lake)) == 6
    assert [r.getMessage() for r in caplog.records if "no snapshot expires" in r.getMessage()][1:] == []
    assert "is not a ledger of floe" in caplog.text


def test_the_newest_word_of_a_sink_survives(lake: Lake) -> None:
    lake.create(properties=COUNT)
    table = lake.of_others()
    rows = pa.table({"kafka_partition": [9], "kafka_offset": [1], "sauce": ["x"]}).cast(
        schema_to_pyarrow(table.schema())
    )
    key = "kafka.connect.offsets.control-sink.connect-old"
    for end in (4, 5):
        table.append(rows, snapshot_properties={key: f'{{"0":{end}}}', "kafka.connect.task-id": "old-0"})
    commit(lake, *range(8))
    metadata = lake.load().metadata
    found = committed_offsets(metadata, "main", key)
    assert found.offsets == {0: 5}
    sinks = last_of_sink(metadata, "main", "connect-old", None)
    assert sinks is not None
    assert snapshot_property(sinks, key) == '{"0":5}'
    assert len(metadata.snapshots) == 4


def test_rows_of_an_idle_connector_are_not_replaced_behind_its_back(lake: Lake) -> None:
    lake.create(properties=COUNT)
    commit(lake, 0, group=THEIRS)
    commit(lake, *range(1, 9))
    with pytest.raises(TableRefused, match="another connector"):
        refuse_shared_offsets(lake.load(), "main", OURS, [OffsetRange(TOPIC, TOPIC_ID, 0, 0, 5)])


def test_nor_where_somebody_elses_expiry_left_a_gap(lake: Lake) -> None:
    lake.create()
    (theirs, between, _) = [*commit(lake, 0, group=THEIRS), *commit(lake, 1, 2)]
    set_ref(lake, "v1", theirs)
    expire_as_java_does(lake, between)
    with pytest.raises(TableRefused, match="another connector"):
        refuse_shared_offsets(lake.load(), "main", OURS, [OffsetRange(TOPIC, TOPIC_ID, 0, 0, 5)])


def test_a_commit_whose_answer_was_lost_is_found_though_others_let_its_snapshot_expire(lake: Lake) -> None:
    lake.create(properties={"floe.expire.max-snapshots": "1"})
    written = written_run(lake, 0)

    def lost(_: int) -> None:
        commit(lake, *range(3), group=THEIRS, partition=7)
        commit(lake, 1)
        msg = "reset"
        raise ConnectionError(msg)

    wire = Wire(lake.catalog(), after=lost)
    landed = written.land(wire.catalog)
    assert landed.already
    assert (wire.sent, landed.snapshot_id) == (1, None)
    assert lake.rows() == sorted([*expected((0, 2)), *expected((0, 3), partition=7)])


def test_a_history_that_somebody_else_expired_does_no_harm(lake: Lake) -> None:
    lake.create(properties=COUNT)
    made = commit(lake, *range(3))
    expire_as_java_does(lake, made[0])
    made += commit(lake, *range(3, 7))
    assert kept(lake) == made[-3:]


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}', '{"1": null}', "null"])
def test_links_that_were_changed_by_hand_lead_nowhere(lake: Lake, text: str) -> None:
    lake.create(properties=COUNT)
    commit(lake, 0, group=THEIRS, partition=7)
    commit(lake, *range(6))
    set_property(lake, LINKS, text)
    with pytest.raises(TableRefused, match="rolled back or replaced"):
        commit(lake, 1, group=THEIRS, partition=7)
    before = kept(lake)
    (after,) = commit(lake, 6)
    assert kept(lake) == [*before, after]


def test_links_in_a_circle_end(lake: Lake) -> None:
    lake.create()
    first, second = commit(lake, 0, 1)
    set_property(lake, LINKS, f'{{"{first}":"{second}"}}')
    assert history(lake) == [second, first]


def test_more_links_than_a_property_takes_keep_everything(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "LONGEST_VALUE", 10)
    lake.create(properties=COUNT)
    commit(lake, 0, group=THEIRS, partition=7)
    commit(lake, *range(6))
    assert len(kept(lake)) == 7


def test_a_link_goes_when_nothing_is_behind_the_gap_any_more(lake: Lake) -> None:
    lake.create(properties=COUNT)
    commit(lake, 0, group=THEIRS, partition=7)
    commit(lake, *range(6))
    assert LINKS in lake.load().properties
    commit(lake, 1, group=THEIRS, partition=7)
    commit(lake, 6, 7)
    commit(lake, 2, group=THEIRS, partition=7)
    assert LINKS not in lake.load().properties
    assert len(kept(lake)) == 3
