"""Expiry with a commit: what a table says goes, what Iceberg or floe still needs stays."""

import logging
from dataclasses import replace

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table.update import RemoveSnapshotsUpdate, SetSnapshotRefUpdate

from floe.commit import expiry
from floe.commit.ancestry import LINKS, branch_history, snapshot_property
from floe.commit.control_offsets import committed_offsets, last_of_sink
from floe.commit.exceptions import TableRefused
from floe.commit.removal import refuse_shared_offsets
from floe.commit.rollback import rolled_back, with_gained
from floe.offsets.ledger import Ledger
from floe.offsets.ledger_property import property_name, read_properties, write_properties
from floe.offsets.ranges import OffsetRange
from tests.unit.commit.lake import (
    GROUP as OURS,
)
from tests.unit.commit.lake import (
    TOPIC,
    TOPIC_ID,
    Lake,
    Wire,
    Written,
    append_foreign,
    expected,
    expire_as_java_does,
    make_announcement,
    make_plan,
    once,
    rewrite_metadata,
    roll_back,
    write_share,
)

THEIRS = "connect-toppings"
DAY = 86_400_000
COUNT = {"floe.expire.max-snapshots": "3"}
AGE = {"history.expire.max-snapshot-age-ms": str(5 * DAY)}


def commit(lake: Lake, *runs: int, branch: str = "main", group: str = OURS, partition: int = 0) -> list[int]:
    """Land runs of one record each; return the snapshots."""
    return [_written(lake, run, branch, group, partition).land().snapshot_id or 0 for run in runs]


def _written(lake: Lake, run: int, branch: str = "main", group: str = OURS, partition: int = 0) -> Written:
    plan = replace(make_plan((partition, run, run + 1), plan_id=f"{group}-{branch}-{run}"), group_id=group)
    return Written(lake, plan, make_announcement(plan, write_share(lake, plan, branch=branch)))


def kept(lake: Lake) -> list[int]:
    return [s.snapshot_id for s in lake.load().metadata.snapshots]


def history(lake: Lake, branch: str = "main") -> list[int]:
    return [s.snapshot_id for s in branch_history(lake.load().metadata, branch)]


def make_older(lake: Lake, days: float, *snapshots: int) -> None:
    """Let snapshots, all if none is named, be older than they are."""

    def change(fields: dict[str, list[dict[str, int]]]) -> None:
        for one in fields["snapshots"]:
            if not snapshots or one["snapshot-id"] in snapshots:
                one["timestamp-ms"] -= int(days * DAY)

    rewrite_metadata(lake, change)


def set_ref(lake: Lake, name: str, snapshot_id: int, kind: str = "tag", **own: int) -> None:
    fields = {"ref-name": name, "type": kind, "snapshot-id": snapshot_id, **own}
    table = lake.of_others()
    table.catalog.commit_table(table, (), (SetSnapshotRefUpdate.model_validate(fields),))


def set_property(lake: Lake, name: str, value: str | None) -> None:
    with lake.of_others().transaction() as transaction:
        transaction.remove_properties(name) if value is None else transaction.set_properties({name: value})


# -- what goes ----------------------------------------------------------------------------------------------------------


def test_a_table_that_says_nothing_keeps_everything(lake: Lake) -> None:
    lake.create()
    commit(lake, *range(4))
    make_older(lake, 400)
    commit(lake, 4)
    assert len(kept(lake)) == 5


def test_a_count_bounds_the_snapshots_of_fast_commits_and_no_row_is_lost(lake: Lake) -> None:
    lake.create(properties=COUNT)
    made = commit(lake, *range(7))
    assert kept(lake) == made[-3:]
    assert lake.rows() == expected((0, 7))
    assert LINKS not in lake.load().properties


def test_old_snapshots_go_with_the_commit_that_adds_the_next_in_one_request(lake: Lake) -> None:
    lake.create(properties=AGE)
    old = commit(lake, 0, 1)
    make_older(lake, 6)
    young = commit(lake, 2)
    before = lake.load().metadata_location
    wire = Wire(lake.catalog())
    written = _written(lake, 3)
    landed = written.land(wire.catalog)
    assert wire.sent == 1
    assert lake.load().metadata.metadata_log[-1].metadata_file == before
    assert kept(lake) == [*young, landed.snapshot_id]
    assert not set(old) & set(kept(lake))


def test_the_number_to_keep_stays_however_old(lake: Lake) -> None:
    lake.create(properties={**AGE, "history.expire.min-snapshots-to-keep": "3"})
    made = commit(lake, *range(4))
    make_older(lake, 6)
    made += commit(lake, 4)
    assert kept(lake) == made[-3:]


def test_each_snapshot_that_goes_has_a_request_of_its_own_for_older_servers(lake: Lake) -> None:
    lake.create(properties=AGE)
    commit(lake, *range(4))
    make_older(lake, 6)
    client = lake.catalog()
    seen: list[RemoveSnapshotsUpdate] = []
    perform = client.commit_table

    def watch(table: object, requirements: object, updates: tuple[object, ...]) -> object:
        seen.extend(u for u in updates if isinstance(u, RemoveSnapshotsUpdate))
        return perform(table, requirements, updates)  # type: ignore[arg-type]

    client.commit_table = watch  # type: ignore[assignment, method-assign]
    _written(lake, 4).land(client)
    assert len(seen) == 4
    assert seen[0].model_dump_json() == f'{{"action":"remove-snapshots","snapshot-ids":[{seen[0].snapshot_ids[0]}]}}'
    assert all(len(one.snapshot_ids) == 1 for one in seen)


def test_a_table_that_comes_with_many_gets_rid_of_them_by_and_by(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expiry, "MOST_AT_ONCE", 2)
    lake.create()
    made = commit(lake, *range(6))
    set_property(lake, *next(iter(COUNT.items())))
    made += commit(lake, 6)
    assert kept(lake) == made[2:]
    made += commit(lake, 7, 8)
    assert kept(lake) == made[-3:]
    assert LINKS not in lake.load().properties


@pytest.mark.parametrize(
    ("name", "value"),
    [("gc.enabled", "false"), ("history.expire.min-snapshots-to-keep", "abc"), ("floe.expire.max-snapshots", "-1")],
)
def test_nothing_goes_where_it_is_forbidden_or_cannot_be_understood(lake: Lake, name: str, value: str) -> None:
    lake.create(properties={**AGE, **COUNT, name: value})
    commit(lake, 0, 1)
    make_older(lake, 6)
    commit(lake, *range(2, 6))
    assert len(kept(lake)) == 6


def test_snapshots_of_the_future_are_young(lake: Lake) -> None:
    lake.create(properties=AGE)
    commit(lake, 0, 1)
    make_older(lake, -30)
    commit(lake, 2)
    assert len(kept(lake)) == 3


def test_snapshots_that_nothing_leads_to_go_by_age_alone(lake: Lake) -> None:
    lake.create(properties={**AGE, "history.expire.min-snapshots-to-keep": "9"})
    first, second = commit(lake, 0, 1)
    roll_back(lake, first)
    table = lake.load()
    accepted = replace(_ledger(lake), anchor=None)
    set_property(lake, property_name(OURS, "main"), write_properties("x", accepted)["x"])
    append_foreign(lake, 1)
    commit(lake, 2, partition=1)
    assert second in kept(lake)
    make_older(lake, 6, second)
    commit(lake, 3, partition=1)
    assert second not in kept(lake)
    assert first in kept(lake)
    assert table.metadata.table_uuid == lake.load().metadata.table_uuid


def _ledger(lake: Lake, group: str = OURS, branch: str = "main") -> Ledger:
    found = read_properties(property_name(group, branch), lake.load().properties)
    assert found is not None
    return found


# -- branches and tags --------------------------------------------------------------------------------------------------


def test_the_heads_of_tags_and_branches_stay(lake: Lake) -> None:
    lake.create(properties={**AGE, **COUNT})
    tagged, branched, other = commit(lake, 0, 1, 2)
    set_ref(lake, "v1", tagged)
    set_ref(lake, "other", branched, "branch")
    make_older(lake, 6)
    commit(lake, *range(3, 8))
    assert {tagged, branched} < set(kept(lake))
    assert other not in kept(lake)
    assert {"v1", "other", "main"} == lake.load().metadata.refs.keys()


def test_a_branch_keeps_what_it_says_itself(lake: Lake) -> None:
    lake.create(properties=AGE)
    made = commit(lake, *range(4))
    set_ref(lake, "long", made[3], "branch", **{"max-snapshot-age-ms": 30 * DAY})
    make_older(lake, 6)
    commit(lake, 4)
    assert kept(lake)[:-1] == made
    make_older(lake, 30, *made)
    commit(lake, 5)
    assert made[2] not in kept(lake)
    assert made[3] in kept(lake)


def test_a_branch_that_says_how_many_keeps_as_many_and_goes_on_saying_so(lake: Lake) -> None:
    lake.create(properties=COUNT)
    made = commit(lake, *range(3))
    own = {"min-snapshots-to-keep": 5, "max-snapshot-age-ms": DAY, "max-ref-age-ms": 9 * DAY}
    set_ref(lake, "audit", made[-1], "branch", **own)
    audit = commit(lake, *range(3, 10), branch="audit")
    ref = lake.load().metadata.refs["audit"]
    assert (ref.min_snapshots_to_keep, ref.max_snapshot_age_ms, ref.max_ref_age_ms) == (5, DAY, 9 * DAY)
    assert ref.snapshot_id == audit[-1]
    make_older(lake, 2)
    audit += commit(lake, 10, branch="audit")
    assert history(lake, "audit")[:5] == audit[:-6:-1]
    assert not set(audit[:-5]) & set(kept(lake))


def test_two_branches_of_one_table_keep_what_each_needs(lake: Lake) -> None:
    lake.create(properties=COUNT)
    main = commit(lake, *range(3))
    audit = commit(lake, *range(3, 9), branch="audit")
    main += commit(lake, *range(3, 9))
    audit += commit(lake, *range(9, 12), branch="audit")
    assert history(lake)[:3] == main[-1:-4:-1]
    assert history(lake, "audit")[:3] == audit[-1:-4:-1]
    assert set(kept(lake)) == {*main[-3:], *audit[-3:]}
    assert lake.rows() == expected((0, 9))
    assert lake.rows("audit") == expected((0, 12))


def test_a_tag_past_its_age_goes_and_what_floe_has_a_ledger_of_stays(lake: Lake) -> None:
    lake.create(properties={**AGE, "history.expire.max-ref-age-ms": str(9 * DAY)})
    (first,) = commit(lake, 0)
    set_ref(lake, "old", first)
    set_ref(lake, "kept", first, **{"max-ref-age-ms": 90 * DAY})
    set_ref(lake, "theirs", first, "branch")
    commit(lake, 1, branch="audit")
    make_older(lake, 10)
    commit(lake, 1)
    assert lake.load().metadata.refs.keys() == {"main", "audit", "kept"}
    assert lake.rows("audit") == expected((0, 2))


def test_a_ref_that_is_set_to_an_old_snapshot_meanwhile_is_not_dropped_with_it(lake: Lake) -> None:
    lake.create(properties=AGE)
    first, second = commit(lake, 0, 1)
    set_ref(lake, "v1", second)
    make_older(lake, 6)
    written = _written(lake, 2)
    wire = Wire(lake.catalog(), before=once(lambda: set_ref(lake, "v1", first)))
    written.land(wire.catalog)
    assert wire.sent == 2
    assert lake.load().metadata.refs["v1"].snapshot_id == first
    assert first in kept(lake)
    assert second not in kept(lake)


def test_a_tag_that_is_created_on_an_old_snapshot_meanwhile_is_not_dropped_either(lake: Lake) -> None:
    lake.create(properties=AGE)
    first, second = commit(lake, 0, 1)
    make_older(lake, 6)
    written = _written(lake, 2)
    wire = Wire(lake.catalog(), before=once(lambda: set_ref(lake, "v1", first)))
    written.land(wire.catalog)
    assert wire.sent == 2
    assert lake.load().metadata.refs["v1"].snapshot_id == first
    assert first in kept(lake)
    assert second not in kept(lake)


# -- what floe needs ----------------------------------------------------------------------------------------------------


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
    ledger = _ledger(lake, THEIRS)
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
    assert rolled_back(lake.load(), "main", THEIRS, _ledger(lake, THEIRS)) is None
    commit(lake, 1, group=THEIRS, partition=7)
    assert lake.rows() == sorted([*expected((0, 2)), *expected((0, 2), partition=7)])


def test_what_a_branch_may_have_led_to_before_somebody_elses_expiry_is_not_lost(lake: Lake) -> None:
    lake.create()
    (theirs, between, _) = [*commit(lake, 0, group=THEIRS, partition=7), *commit(lake, 0, 1)]
    set_ref(lake, "v1", theirs)
    expire_as_java_does(lake, between)
    assert rolled_back(lake.load(), "main", THEIRS, _ledger(lake, THEIRS)) == {}


def _set_back_and_forward_again(lake: Lake) -> tuple[int, list[int]]:
    """Take a rollback back when the first of the snapshots that it left behind has expired; return fork and others."""
    lake.create(properties={**AGE, "history.expire.min-snapshots-to-keep": "50"})
    (fork,) = commit(lake, 0)
    before = _ledger(lake)
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
    found = rolled_back(lake.load(), "main", OURS, _ledger(lake)) or {}
    assert {log_id.partition: list(offsets) for log_id, offsets in found.items()} == {5: [(1, 3)]}


def test_rows_of_an_expired_snapshot_that_are_there_again_are_not_taken_for_missing(lake: Lake) -> None:
    fork, _ = _set_back_and_forward_again(lake)
    table, ledger = lake.load(), _ledger(lake)
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
    written = _written(lake, 0)

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
