"""Landing slices in several tables: each by itself, and what becomes of those that cannot take their rows."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from floe.catalogs.exceptions import CatalogMisconfigured, CatalogUnreachable
from floe.commit.slice_commit import SliceCommitter, TableOutcomes
from floe.exceptions import FloeError
from floe.model.positions import PartitionBacklog
from floe.tables import lake as module
from floe.tables.exceptions import AnnouncementVoid, SliceStale, TableNotCommitted, TableRefused
from tests.support.tables.lake import OTHER_TABLE, ROUTE, TABLE, TOPIC, expected
from tests.support.tables.landing import BOTH, Landing
from tests.support.tables.slices import Written, with_files, with_refused

OWED = {TOPIC: ROUTE}


def test_every_table_takes_its_rows_and_the_slice_has_ended(landing: Landing) -> None:
    outcome = landing.land(landing.write((0, 0, 5)))
    assert landing.rows() == (expected((0, 5)), expected((0, 5)))
    assert [t.table_files.table for t in outcome.committed] == list(BOTH)
    end = outcome.end
    assert end is not None
    assert (end.behind, end.has_snapshot) == ({}, True)
    assert (outcome.errors, outcome.behind) == ((), {})


def test_a_table_that_refuses_owes_and_the_other_goes_on(landing: Landing) -> None:
    written = landing.write((0, 0, 5), (1, 7, 9))
    landing.lake.replace(OTHER_TABLE)
    outcome = landing.land(written)
    assert landing.rows() == (expected((0, 5)) + expected((7, 9), partition=1), [])
    end = outcome.end
    assert end is not None
    assert (end.slice, end.behind, end.has_snapshot) == (written.plan.slices[0], {OTHER_TABLE: OWED}, True)
    assert outcome.errors == ()
    assert outcome.behind.keys() == {OTHER_TABLE}
    assert "was replaced" in outcome.behind[OTHER_TABLE]


def test_a_table_whose_ledger_was_spoilt_owes(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    table = landing.lake.load(OTHER_TABLE)
    table.transaction().set_properties(**{"floe.ledger.connect-pizzas.main": "{}"}).commit_transaction()
    assert landing.land(written).end.behind == {OTHER_TABLE: OWED}


def test_table_not_written_for_has_backlog_without_being_loaded(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    announcement = with_refused(written.announcement, "it was dropped", OTHER_TABLE)
    outcome = landing.land(replace(written, announcement=announcement))
    assert outcome.end.behind == {OTHER_TABLE: OWED}
    assert outcome.behind == {OTHER_TABLE: "it was dropped"}


def test_every_table_refusing_fails_slice_without_backlog(landing: Landing) -> None:
    """The position stays: reading the range again is all that is left to do."""
    written = landing.write((0, 0, 5))
    for name in BOTH:
        landing.lake.replace(name)
    outcome = landing.land(written)
    assert (outcome.end, outcome.committed) == (None, ())
    assert [type(error) for error in outcome.errors] == [TableRefused, TableRefused]
    assert outcome.behind.keys() == set(BOTH)


def test_no_table_written_for_fails_slice_with_the_reasons(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    outcome = landing.land(replace(written, announcement=with_refused(written.announcement, "it was dropped", *BOTH)))
    assert outcome.end is None
    ((error),) = outcome.errors
    assert str(error) == "it was dropped; it was dropped"


def test_all_refusing_except_one_behind_anyway_fails_slice(landing: Landing) -> None:
    backlogs = {OTHER_TABLE: PartitionBacklog(2, ROUTE)}
    written = landing.write((0, 5, 9), backlogs=backlogs)
    assert [
        table_files.new_ranges for table_files in written.announcement.files if table_files.table == OTHER_TABLE
    ] == [()]
    announcement = with_files(written.announcement, written.announcement.files[0])
    landing.lake.replace(TABLE)
    outcome = landing.land(replace(written, announcement=announcement))
    assert outcome.end is None
    assert len(outcome.errors) == 1


def test_a_slice_without_rows_has_ended_without_a_snapshot(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    outcome = landing.land(replace(written, announcement=with_files(written.announcement)))
    end = outcome.end
    assert end is not None
    assert (end.behind, end.has_snapshot) == ({}, False)


def test_landing_again_is_an_end_with_the_snapshots_of_then(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    first, again = landing.land(written), landing.land(written)
    assert again.end == first.end
    assert [(t.snapshot_id, t.already) for t in again.committed] == [(t.snapshot_id, True) for t in first.committed]
    assert landing.rows() == (expected((0, 5)), expected((0, 5)))


# -- what is no refusal -----------------------------------------------------------------------------------------------


def test_a_stale_table_fails_the_slice_and_owes_nothing(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    landing.land(landing.write((0, 0, 3), tables=(OTHER_TABLE,), plan_id="rival"))
    outcome = landing.land(written)
    assert outcome.end is None
    assert [type(error) for error in outcome.errors] == [SliceStale]
    assert outcome.behind == {}
    assert landing.rows() == (expected((0, 5)), expected((0, 3)))


def test_a_void_announcement_fails_the_slice_and_owes_nothing(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    first, second = written.announcement.files
    spec = second.files[0]
    gone = replace(second, files=(replace(spec, files=(replace(spec.files[0], file_path="/elsewhere/x"),)),))
    outcome = landing.land(replace(written, announcement=with_files(written.announcement, first, gone)))
    assert outcome.end is None
    assert [type(error) for error in outcome.errors] == [AnnouncementVoid]


def test_table_not_committed_in_time_fails_slice_without_backlog(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    outcome = landing.land(written, patience_ms=1, wire=True)
    assert outcome.end is None
    assert [type(error) for error in outcome.errors] == [TableNotCommitted, TableNotCommitted]
    assert landing.land(written).end.behind == {}


def test_one_table_refusing_and_one_timed_out_fails_slice(landing: Landing) -> None:
    written = landing.write((0, 0, 5))
    landing.lake.replace(OTHER_TABLE)
    outcome = landing.land(written, patience_ms=1, wire=True)
    assert outcome.end is None
    assert [type(error) for error in outcome.errors] == [TableNotCommitted]
    assert outcome.behind.keys() == {OTHER_TABLE}


def test_a_catalog_that_cannot_be_opened_yet_is_tried_again(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    written = landing.write((0, 0, 5))
    committer = landing.committer(written)
    opened, calls = module.CatalogClient.of, iter(range(100))

    def of(connector: object) -> object:
        if next(calls) < 2:
            msg = "down"
            raise CatalogUnreachable(msg)
        return opened(connector)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "CatalogClient", SimpleNamespace(of=of))
    outcome = committer.commit(written.plan.slices[0], written.announcement)
    assert outcome.is_done
    assert next(calls) == 3


def test_catalog_denying_access_is_a_refusal_of_all_tables(landing: Landing, monkeypatch: pytest.MonkeyPatch) -> None:
    def of(_: object) -> object:
        msg = "not allowed"
        raise CatalogMisconfigured(msg)

    written = landing.write((0, 0, 5))
    committer = landing.committer(written)
    monkeypatch.setattr(module, "CatalogClient", SimpleNamespace(of=of))
    outcome = committer.commit(written.plan.slices[0], written.announcement)
    assert outcome.end is None
    assert outcome.behind == dict.fromkeys(BOTH, "not allowed")


# -- catching up ------------------------------------------------------------------------------------------------------


def catch_up(landing: Landing, start: int, end: int, plan_id: str = "plan-2") -> Written:
    """Write what the other table lacks."""
    backlogs = {OTHER_TABLE: PartitionBacklog(start, ROUTE)}
    return landing.write(
        (0, start, end), tables=(OTHER_TABLE,), backlogs=backlogs, kind="catch-up", plan_id=plan_id, index=1
    )


def test_a_table_catches_up_in_a_slice_of_its_own(landing: Landing) -> None:
    landing.land(landing.write((0, 0, 3)))
    landing.land(landing.write((0, 3, 6), tables=(TABLE,), plan_id="while-it-refused"))
    written = catch_up(landing, 3, 6)
    outcome = landing.land(written)
    assert outcome.end[:3] == (written.plan.slices[0], {}, True)
    assert landing.rows() == (expected((0, 6)), expected((0, 6)))


def test_table_refusing_its_catch_up_keeps_backlog(landing: Landing) -> None:
    written = catch_up(landing, 3, 6)
    landing.lake.replace(OTHER_TABLE)
    outcome = landing.land(written)
    assert (outcome.end, outcome.errors) == (None, ())
    assert "was replaced" in outcome.behind[OTHER_TABLE]


def test_a_catch_up_that_cannot_be_committed_in_time_fails(landing: Landing) -> None:
    outcome = landing.land(catch_up(landing, 3, 6), patience_ms=1, wire=True)
    assert outcome.end is None
    assert [type(error) for error in outcome.errors] == [TableNotCommitted]


# -- replays ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["skip", "append"])
def test_table_refusing_a_replay_is_left_out_of_its_slice(landing: Landing, kind: str) -> None:
    written = landing.write((0, 0, 5), kind=kind)
    landing.lake.replace(OTHER_TABLE)
    outcome = landing.land(written)
    assert outcome.is_done
    assert outcome.errors == ()
    assert "was replaced" in outcome.behind[OTHER_TABLE]
    assert landing.rows() == (expected((0, 5)), [])


@pytest.mark.parametrize("kind", ["skip", "append"])
def test_all_tables_refusing_a_replay_fail_its_slice(landing: Landing, kind: str) -> None:
    written = landing.write((0, 0, 5), kind=kind)
    for name in BOTH:
        landing.lake.replace(name)
    outcome = landing.land(written)
    assert outcome.end is None
    assert [type(error) for error in outcome.errors] == [TableRefused, TableRefused]


def test_table_left_out_before_gets_no_later_slice(landing: Landing) -> None:
    written = landing.write((0, 0, 5), kind="append", index=1)
    committer = landing.committer(written)
    outcome = committer.commit(written.plan.slices[0], written.announcement, {OTHER_TABLE: "it was dropped"})
    assert outcome.is_done
    assert outcome.behind == {OTHER_TABLE: "it was dropped"}
    assert landing.rows() == (expected((0, 5)), [])


@pytest.mark.parametrize(("took", "is_quick"), [(None, True), (30_000, True), (30_001, False)])
def test_slice_is_quick_if_twice_as_much_fits(landing: Landing, took: int | None, *, is_quick: bool) -> None:
    written = landing.write((0, 0, 3))
    committer = SliceCommitter(written.plan, landing.lake.connector(**{"floe.write.timeout": "60000"}))
    assert committer._is_quick(replace(written.announcement, write_ms=took)) is is_quick


# -- what keeps a slice from its end ----------------------------------------------------------------------------------


REFUSED, FAILED = TableRefused("refused"), SliceStale("stale")


@pytest.mark.parametrize(
    ("outcomes", "is_catch_up", "is_no_table_left", "left"),
    [
        (TableOutcomes(), False, False, None),
        (TableOutcomes(behind={"a": "refused"}, refused=(REFUSED,)), False, False, None),
        (TableOutcomes(behind={"a": "refused"}, refused=(REFUSED,)), True, False, ()),
        (TableOutcomes(behind={"a": "refused"}, refused=(REFUSED,)), False, True, (REFUSED,)),
        (TableOutcomes(failed=(FAILED,)), False, False, (FAILED,)),
        (TableOutcomes(behind={"a": "refused"}, refused=(REFUSED,), failed=(FAILED,)), True, True, (FAILED,)),
    ],
)
def test_slice_ends_unless_something_failed_or_nothing_took_its_rows(
    outcomes: TableOutcomes, is_catch_up: bool, is_no_table_left: bool, left: tuple[FloeError, ...] | None
) -> None:
    assert outcomes.left_with(is_catch_up=is_catch_up, is_no_table_left=is_no_table_left) == left


def test_tables_that_were_behind_before_are_the_reason_where_none_is_left() -> None:
    left = TableOutcomes(behind={"a": "dropped", "b": "gone"}).left_with(is_catch_up=False, is_no_table_left=True)
    assert left is not None
    assert [str(error) for error in left] == ["dropped; gone"]
