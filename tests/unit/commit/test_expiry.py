"""Expiry with a commit: what a table, its branches and its tags say goes, in one request."""

from dataclasses import replace

import pytest
from pyiceberg.table.update import RemoveSnapshotsUpdate

from floe.commit import expiry
from floe.commit.ancestry import LINKS
from floe.offsets.ledger_property import property_name, write_properties
from tests.unit.commit.lake import (
    GROUP as OURS,
)
from tests.unit.commit.lake import (
    Lake,
    Wire,
    append_foreign,
    expected,
    once,
    roll_back,
)
from tests.unit.commit.old_snapshots import (
    AGE,
    COUNT,
    DAY,
    commit,
    held_by,
    history,
    kept,
    make_older,
    set_property,
    set_ref,
    written_run,
)

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
    written = written_run(lake, 3)
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
    written_run(lake, 4).land(client)
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
    accepted = replace(held_by(lake), anchor=None)
    set_property(lake, property_name(OURS, "main"), write_properties("x", accepted)["x"])
    append_foreign(lake, 1)
    commit(lake, 2, partition=1)
    assert second in kept(lake)
    make_older(lake, 6, second)
    commit(lake, 3, partition=1)
    assert second not in kept(lake)
    assert first in kept(lake)
    assert table.metadata.table_uuid == lake.load().metadata.table_uuid


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


@pytest.mark.parametrize("is_there_before", [True, False], ids=["set", "created"])
def test_a_tag_that_is_put_on_an_old_snapshot_meanwhile_is_not_dropped_with_it(
    lake: Lake, is_there_before: bool
) -> None:
    lake.create(properties=AGE)
    first, second = commit(lake, 0, 1)
    if is_there_before:
        set_ref(lake, "v1", second)
    make_older(lake, 6)
    written = written_run(lake, 2)
    wire = Wire(lake.catalog(), before=once(lambda: set_ref(lake, "v1", first)))
    written.land(wire.catalog)
    assert wire.sent == 2
    assert lake.load().metadata.refs["v1"].snapshot_id == first
    assert first in kept(lake)
    assert second not in kept(lake)
