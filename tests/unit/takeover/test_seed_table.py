"""Seeding one table: files and ledger land together and once, whatever the catalog answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.expressions import AlwaysTrue

from floe.recovery.rollback import rolled_back
from floe.tables.exceptions import TableNotCommitted, TableRefused
from floe.takeover.exceptions import TakeoverRefused
from floe.takeover.seed_table import TableTakeover
from tests.support.tables.foreign_changes import append_foreign, roll_back
from tests.support.tables.lake import BY_SAUCE, GROUP, OFFSETS, TABLE, Lake, expected, head
from tests.support.tables.sink_leftovers import Sink, as_the_sink
from tests.support.tables.wire import Wire, fails_first, once


@pytest.fixture
def sink(lake: Lake) -> Sink:
    lake.create()
    return Sink(lake)


def test_files_and_ledger_land_in_one_snapshot_and_once(sink: Sink) -> None:
    written = sink.write(0, 30)
    assert (sink.land(written).files, sink.lake.rows(), sink.held()) == (1, expected((0, 30)), [(0, 100)])
    assert sink.land(written) == TableTakeover(TABLE, None)
    assert len(sink.lake.load().snapshots()) == 1


def test_event_below_control_offsets_of_table_is_committed(sink: Sink) -> None:
    sink.land(sink.write(0, 30, at=10))
    assert sink.land(sink.write(0, 30, at=49)).files == 0
    assert sink.land(sink.write(30, 40, at=50)).files == 1
    assert sink.lake.rows() == expected((0, 40))


def test_file_in_table_is_not_added_again_whatever_the_offsets(sink: Sink) -> None:
    written = sink.write(0, 30)
    sink.land(written)
    assert sink.land(written._replace(offset=70)) == TableTakeover(TABLE, None)
    assert sink.lake.rows() == expected((0, 30))


@pytest.mark.parametrize(
    "error", [CommitFailedException("409"), OSError("the answer was lost"), ValueError("not JSON")], ids=repr
)
def test_seed_commit_with_lost_answer_is_found_committed(sink: Sink, error: Exception) -> None:
    catalog = sink.lake.catalog()
    wire = Wire(catalog, after=fails_first(error))
    assert sink.land(sink.write(0, 30), catalog=catalog) == TableTakeover(TABLE, None)
    assert wire.sent == 1
    assert sink.lake.rows() == expected((0, 30))


def test_a_commit_that_was_not_sent_is_sent_again(sink: Sink) -> None:
    catalog = sink.lake.catalog()
    wire = Wire(catalog, before=fails_first(OSError("no route"), 2))
    assert sink.land(sink.write(0, 30), catalog=catalog).rows == 30
    assert wire.sent == 3
    assert sink.lake.rows() == expected((0, 30))


def test_a_conflict_with_somebody_else_is_tried_on_the_new_head(sink: Sink) -> None:
    catalog = sink.lake.catalog()
    Wire(catalog, before=once(lambda: append_foreign(sink.lake, 7)))
    assert sink.land(sink.write(0, 30), catalog=catalog).rows == 30
    assert sink.lake.rows() == [*expected((0, 30)), (99, 7)]
    assert sink.held() == [(0, 100)]


def test_conflict_with_coordinator_on_same_events_adds_once(sink: Sink) -> None:
    """The sink is stopped, but its coordinator was only slow: it commits between floe's look and floe's commit."""
    written = sink.write(0, 30)
    catalog = sink.lake.catalog()
    Wire(catalog, before=once(lambda: sink.land(written)))
    assert sink.land(written, catalog=catalog).files == 0
    assert sink.lake.rows() == expected((0, 30))


def test_an_outage_ends_with_nothing_done_and_a_retryable_error(sink: Sink) -> None:
    catalog = sink.lake.catalog()
    Wire(catalog, before=fails_first(OSError("no route"), 10_000))
    with pytest.raises(TableNotCommitted, match="Nothing is lost"):
        sink.land(sink.write(0, 30), catalog=catalog, timeout_s=0.05)
    assert sink.lake.rows() == []


def test_files_of_an_older_partition_spec_are_committed_under_it(lake: Lake) -> None:
    lake.create(BY_SAUCE)
    sink = Sink(lake)
    old = sink.write(0, 9, spec_id=0)
    with lake.load().update_spec() as update:
        update.remove_field("sauce")
    new = sink.write(9, 12, at=12)
    assert {f.spec_id for one in (old, new) for f in one.payload.data_files or ()} == {0, 1}
    sink.check_table(old, new)
    assert sink.land(old, new).rows == 12
    assert lake.rows() == expected((0, 12))


def test_a_branch_of_a_table_without_snapshots_is_made(sink: Sink) -> None:
    assert sink.land(sink.write(0, 5), branch="audit").rows == 5
    assert sink.lake.rows("audit") == expected((0, 5))
    assert sink.lake.rows() == []


def test_a_table_that_does_not_exist_has_nothing_to_be_done(lake: Lake) -> None:
    assert Sink(lake).land() == TableTakeover(TABLE, None)


def test_a_table_that_is_replaced_in_the_middle_is_left_alone(sink: Sink) -> None:
    written = sink.write(0, 5)
    sink.lake.catalog().drop_table(TABLE)
    with pytest.raises(TableRefused, match="while it was taken over"):
        sink.land(written)
    sink.lake.create()
    with pytest.raises(TableRefused, match="while it was taken over"):
        sink.land(written)
    assert sink.lake.rows() == []


Forge = Callable[[Any], Any]


@pytest.mark.parametrize(
    ("forge", "reason"),
    [
        pytest.param(lambda f: replace(f, spec_id=7), "partition spec 7", id="an unknown spec"),
        pytest.param(lambda f: replace(f, spec_id=None), "partition spec None", id="no spec"),
        pytest.param(lambda f: replace(f, file_path="file:///etc/passwd"), "is outside", id="outside"),
        pytest.param(lambda f: replace(f, file_path=f.file_path + "x"), "does not exist", id="missing"),
        pytest.param(lambda f: replace(f, file_size_in_bytes=1), "was announced with 1", id="another size"),
        pytest.param(lambda f: replace(f, record_count=10**12), "records but has 5", id="other records"),
        pytest.param(lambda f: replace(f, file_format="ORC"), "Parquet data files only", id="another format"),
        pytest.param(lambda f: replace(f, first_row_id=3), "format version 3", id="of another version"),
    ],
)
def test_invalid_files_are_found_before_any_change(sink: Sink, forge: Forge, reason: str) -> None:
    written = sink.write(0, 5)
    forged = tuple(map(forge, written.payload.data_files or ()))
    with pytest.raises(TakeoverRefused, match=f"{reason}.*Start the sink again until it has committed"):
        sink.check_table(written._replace(payload=replace(written.payload, data_files=forged)))


def test_pending_file_that_is_not_parquet_is_refused(sink: Sink) -> None:
    written = sink.write(0, 5)
    (file,) = written.payload.data_files or ()
    Path(urlsplit(file.file_path).path).write_bytes(b"x" * file.file_size_in_bytes)
    with pytest.raises(TakeoverRefused, match="no Parquet file"):
        sink.check_table(written)


def test_pending_file_with_false_bounds_hides_no_row(sink: Sink) -> None:
    written = sink.write(0, 5)
    far = (10**12).to_bytes(8, "little")
    false = {"lower_bounds": {2: far}, "upper_bounds": {2: far}, "null_value_counts": {2: 5}, "value_counts": {2: 5}}
    forged = tuple(replace(file, **false) for file in written.payload.data_files or ())
    one = written._replace(payload=replace(written.payload, data_files=forged))
    sink.check_table(one)
    sink.land(one)
    assert sink.lake.load().scan("kafka_offset < 100").to_arrow().num_rows == 5


def test_a_partition_type_that_is_not_the_spec_s_is_refused(sink: Sink, lake: Lake) -> None:
    written = sink.write(0, 5)
    with lake.load().update_spec() as update:
        update.add_identity("sauce")
    (file,) = written.payload.data_files or ()
    forged = replace(written.payload, data_files=(replace(file, spec_id=1),))
    with pytest.raises(TakeoverRefused, match="partition spec 1"):
        sink.check_table(written._replace(payload=forged))


@pytest.mark.parametrize("files", [True, False])
def test_a_rollback_past_rows_of_the_sink_is_not_read_again(sink: Sink, files: bool) -> None:
    """Which offsets the sink's files hold is unknown: reading all of them again would double what stayed."""
    append_foreign(sink.lake, 7)
    first = head(sink.lake)
    as_the_sink(sink.lake)
    sink.land(*([sink.write(0, 5, at=60)] if files else []))
    roll_back(sink.lake, first)
    with pytest.raises(TableRefused, match="cannot determine"):
        rolled_back(sink.lake.load(), "main", GROUP, sink.ledger())


def test_rollback_to_last_sink_snapshot_loses_floe_rows(sink: Sink) -> None:
    as_the_sink(sink.lake)
    last = head(sink.lake)
    sink.land()
    assert rolled_back(sink.lake.load(), "main", GROUP, sink.ledger()) is None
    roll_back(sink.lake, last)
    assert rolled_back(sink.lake.load(), "main", GROUP, sink.ledger()) == {}


def test_control_offsets_of_all_groups_rise_and_rows_stay(sink: Sink) -> None:
    append_foreign(sink.lake, 7)
    sink.land()
    summary = sink.lake.load().snapshots()[-1].summary
    assert summary is not None
    assert summary.additional_properties[OFFSETS] == '{"0":50}'
    assert summary.additional_properties["floe.net"] == "{}"
    assert sink.lake.load().scan(AlwaysTrue()).to_arrow().num_rows == 1
