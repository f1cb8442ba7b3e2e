"""Expiry with a commit: what a table, its branches and its tags say goes, in one request."""

from dataclasses import replace

import pytest
from pyiceberg.table.update import RemoveSnapshotsUpdate

from floe.model.ledger_codec import property_name, write_properties
from floe.tables import expiry
from floe.tables.history import LINKS
from tests.support.tables.foreign_changes import append_foreign, roll_back
from tests.support.tables.lake import GROUP as OURS
from tests.support.tables.lake import expected
from tests.support.tables.old_snapshots import AGE, COUNT, DAY, AgingLake
from tests.support.tables.wire import Wire, once

# -- what goes ----------------------------------------------------------------------------------------------------------


def test_a_table_that_says_nothing_keeps_everything(aging: AgingLake) -> None:
    aging.create()
    aging.commit(*range(4))
    aging.make_older(400)
    aging.commit(4)
    assert len(aging.kept()) == 5


def test_count_bounds_snapshots_of_frequent_commits(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    made = aging.commit(*range(7))
    assert aging.kept() == made[-3:]
    assert aging.rows() == expected((0, 7))
    assert LINKS not in aging.load().properties


def test_old_snapshots_expire_with_next_commit_in_one_request(aging: AgingLake) -> None:
    aging.create(properties=AGE)
    old = aging.commit(0, 1)
    aging.make_older(6)
    young = aging.commit(2)
    before = aging.load().metadata_location
    wire = Wire(aging.catalog())
    written = aging.written_run(3)
    committed = written.land(wire.catalog)
    assert wire.sent == 1
    assert aging.load().metadata.metadata_log[-1].metadata_file == before
    assert aging.kept() == [*young, committed.snapshot_id]
    assert not set(old) & set(aging.kept())


def test_the_number_to_keep_stays_however_old(aging: AgingLake) -> None:
    aging.create(properties={**AGE, "history.expire.min-snapshots-to-keep": "3"})
    made = aging.commit(*range(4))
    aging.make_older(6)
    made += aging.commit(4)
    assert aging.kept() == made[-3:]


def test_each_expired_snapshot_has_its_request_for_old_servers(aging: AgingLake) -> None:
    aging.create(properties=AGE)
    aging.commit(*range(4))
    aging.make_older(6)
    client = aging.catalog()
    seen: list[RemoveSnapshotsUpdate] = []
    perform = client.commit_table

    def watch(table: object, requirements: object, updates: tuple[object, ...]) -> object:
        seen.extend(u for u in updates if isinstance(u, RemoveSnapshotsUpdate))
        return perform(table, requirements, updates)  # type: ignore[arg-type]

    client.commit_table = watch  # type: ignore[assignment, method-assign]
    aging.written_run(4).land(client)
    assert len(seen) == 4
    assert seen[0].model_dump_json() == f'{{"action":"remove-snapshots","snapshot-ids":[{seen[0].snapshot_ids[0]}]}}'
    assert all(len(one.snapshot_ids) == 1 for one in seen)


def test_a_table_that_comes_with_many_gets_rid_of_them_by_and_by(
    aging: AgingLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expiry, "MAX_PER_COMMIT", 2)
    aging.create()
    made = aging.commit(*range(6))
    aging.set_property(*next(iter(COUNT.items())))
    made += aging.commit(6)
    assert aging.kept() == made[2:]
    made += aging.commit(7, 8)
    assert aging.kept() == made[-3:]
    assert LINKS not in aging.load().properties


@pytest.mark.parametrize(
    ("name", "value"),
    [("gc.enabled", "false"), ("history.expire.min-snapshots-to-keep", "abc"), ("floe.expire.max-snapshots", "-1")],
)
def test_nothing_expires_where_forbidden_or_unparsable(aging: AgingLake, name: str, value: str) -> None:
    aging.create(properties={**AGE, **COUNT, name: value})
    aging.commit(0, 1)
    aging.make_older(6)
    aging.commit(*range(2, 6))
    assert len(aging.kept()) == 6


def test_snapshots_of_the_future_are_young(aging: AgingLake) -> None:
    aging.create(properties=AGE)
    aging.commit(0, 1)
    aging.make_older(-30)
    aging.commit(2)
    assert len(aging.kept()) == 3


def test_snapshots_that_nothing_leads_to_go_by_age_alone(aging: AgingLake) -> None:
    aging.create(properties={**AGE, "history.expire.min-snapshots-to-keep": "9"})
    first, second = aging.commit(0, 1)
    roll_back(aging, first)
    table = aging.load()
    accepted = replace(aging.held_by(), anchor=None)
    aging.set_property(property_name(OURS, "main"), write_properties("x", accepted)["x"])
    append_foreign(aging, 1)
    aging.commit(2, partition=1)
    assert second in aging.kept()
    aging.make_older(6, second)
    aging.commit(3, partition=1)
    assert second not in aging.kept()
    assert first in aging.kept()
    assert table.metadata.table_uuid == aging.load().metadata.table_uuid


# -- branches and tags --------------------------------------------------------------------------------------------------


def test_the_heads_of_tags_and_branches_stay(aging: AgingLake) -> None:
    aging.create(properties={**AGE, **COUNT})
    tagged, branched, other = aging.commit(0, 1, 2)
    aging.set_ref("v1", tagged)
    aging.set_ref("other", branched, "branch")
    aging.make_older(6)
    aging.commit(*range(3, 8))
    assert {tagged, branched} < set(aging.kept())
    assert other not in aging.kept()
    assert {"v1", "other", "main"} == aging.load().metadata.refs.keys()


def test_a_branch_keeps_what_it_says_itself(aging: AgingLake) -> None:
    aging.create(properties=AGE)
    made = aging.commit(*range(4))
    aging.set_ref("long", made[3], "branch", **{"max-snapshot-age-ms": 30 * DAY})
    aging.make_older(6)
    aging.commit(4)
    assert aging.kept()[:-1] == made
    aging.make_older(30, *made)
    aging.commit(5)
    assert made[2] not in aging.kept()
    assert made[3] in aging.kept()


def test_branch_with_own_count_keeps_that_many(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    made = aging.commit(*range(3))
    own = {"min-snapshots-to-keep": 5, "max-snapshot-age-ms": DAY, "max-ref-age-ms": 9 * DAY}
    aging.set_ref("audit", made[-1], "branch", **own)
    audit = aging.commit(*range(3, 10), branch="audit")
    ref = aging.load().metadata.refs["audit"]
    assert (ref.min_snapshots_to_keep, ref.max_snapshot_age_ms, ref.max_ref_age_ms) == (5, DAY, 9 * DAY)
    assert ref.snapshot_id == audit[-1]
    aging.make_older(2)
    audit += aging.commit(10, branch="audit")
    assert aging.history("audit")[:5] == audit[:-6:-1]
    assert not set(audit[:-5]) & set(aging.kept())


def test_two_branches_of_one_table_keep_what_each_needs(aging: AgingLake) -> None:
    aging.create(properties=COUNT)
    main = aging.commit(*range(3))
    audit = aging.commit(*range(3, 9), branch="audit")
    main += aging.commit(*range(3, 9))
    audit += aging.commit(*range(9, 12), branch="audit")
    assert aging.history()[:3] == main[-1:-4:-1]
    assert aging.history("audit")[:3] == audit[-1:-4:-1]
    assert set(aging.kept()) == {*main[-3:], *audit[-3:]}
    assert aging.rows() == expected((0, 9))
    assert aging.rows("audit") == expected((0, 12))


def test_tag_past_its_age_expires_and_ledger_snapshots_stay(aging: AgingLake) -> None:
    aging.create(properties={**AGE, "history.expire.max-ref-age-ms": str(9 * DAY)})
    (first,) = aging.commit(0)
    aging.set_ref("old", first)
    aging.set_ref("kept", first, **{"max-ref-age-ms": 90 * DAY})
    aging.set_ref("theirs", first, "branch")
    aging.commit(1, branch="audit")
    aging.make_older(10)
    aging.commit(1)
    assert aging.load().metadata.refs.keys() == {"main", "audit", "kept"}
    assert aging.rows("audit") == expected((0, 2))


@pytest.mark.parametrize("is_there_before", [True, False], ids=["set", "created"])
def test_tag_put_on_old_snapshot_meanwhile_is_not_dropped(aging: AgingLake, is_there_before: bool) -> None:
    aging.create(properties=AGE)
    first, second = aging.commit(0, 1)
    if is_there_before:
        aging.set_ref("v1", second)
    aging.make_older(6)
    written = aging.written_run(2)
    wire = Wire(aging.catalog(), before=once(lambda: aging.set_ref("v1", first)))
    written.land(wire.catalog)
    assert wire.sent == 2
    assert aging.load().metadata.refs["v1"].snapshot_id == first
    assert first in aging.kept()
    assert second not in aging.kept()
