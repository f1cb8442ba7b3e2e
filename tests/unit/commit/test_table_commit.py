"""Committing a slice: once, however often, by however many, and whatever the catalog answers."""

import itertools
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from floe.exceptions import Retryable
from floe.model.holding import LogId
from floe.model.offsets import Intervals
from floe.tables.exceptions import TableNotCommitted
from floe.tables.table_state import ledger_of
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import TOPIC, TOPIC_ID, Lake, expected
from tests.support.tables.slices import Write, held, land_in_process
from tests.support.tables.wire import Wire, fails_first, once

UNCLEAR = [
    pytest.param(CommitFailedException("409"), id="409"),
    pytest.param(CommitStateUnknownException("504"), id="504"),
    pytest.param(ConnectionError("reset by peer"), id="reset"),
    pytest.param(TimeoutError("no answer"), id="time-out"),
    pytest.param(ValueError("not JSON"), id="garbled"),
]


def manifests_of_all_snapshots(lake: Lake) -> list[str]:
    table = lake.load()
    return [m.manifest_path for s in table.metadata.snapshots for m in s.manifests(table.io)]


def test_rows_land_once_with_ledger_and_files_in_one_snapshot(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5), (1, 10, 12))
    committed = written.land()
    assert not committed.already
    assert lake.rows() == expected((0, 5)) + expected((10, 12), partition=1)
    (snapshot,) = lake.load().metadata.snapshots
    assert snapshot.snapshot_id == committed.snapshot_id
    ledger = ledger_of(lake.load(), "main", written.plan)
    assert ledger.anchor == (snapshot.snapshot_id, snapshot.sequence_number)
    assert held(lake, written) == Intervals(((0, 5),))
    assert ledger.holdings[LogId(TOPIC, TOPIC_ID, 1)].position == (10, written.plan.positions[1].metadata)


def test_second_commit_adds_nothing_and_names_first_snapshot(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    first = written.land()
    append_foreign(lake, 1)
    for _ in range(3):
        again = written.land()
        assert again.already
        assert again.snapshot_id == first.snapshot_id
    assert lake.rows() == [*expected((0, 5)), (99, 1)]
    assert len(lake.load().metadata.snapshots) == 2


def test_same_rows_in_other_files_of_retried_writer_add_nothing(lake: Lake, write: Write) -> None:
    lake.create()
    first, zombie = write((0, 0, 5)), write((0, 0, 5))
    assert {f.file_path for f in first.files}.isdisjoint(f.file_path for f in zombie.files)
    first.land()
    assert zombie.land().already
    assert lake.rows() == expected((0, 5))


def test_a_range_read_again_lands_only_what_the_table_lacks(lake: Lake, write: Write) -> None:
    lake.create()
    write((0, 0, 5)).land()
    again = write((0, 0, 8), plan_id="plan-2")
    assert again.counts.rows == 3
    assert not again.land().already
    assert lake.rows() == expected((0, 8))
    assert held(lake, again) == Intervals(((0, 8),))


def test_successive_runs_leave_one_interval_and_a_snapshot_each(lake: Lake, write: Write) -> None:
    lake.create()
    for i in range(4):
        last = write((0, 10 * i, 10 * i + 5), plan_id=f"plan-{i}")
        last.land()
    assert held(lake, last) == Intervals(((0, 35),))
    assert len(lake.load().metadata.snapshots) == 4


def test_two_commits_of_one_announcement_add_it_once(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    both_have_looked = threading.Barrier(2, timeout=30)
    clients = [lake.catalog(), lake.catalog()]
    for client in clients:
        Wire(client, before=once(both_have_looked.wait))
    with ThreadPoolExecutor(2) as pool:
        committed = list(pool.map(written.land, clients))
    assert sorted(result.already for result in committed) == [False, True]
    assert committed[0].snapshot_id == committed[1].snapshot_id
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


def test_two_commits_of_rival_announcements_add_one_of_them(lake: Lake, write: Write) -> None:
    lake.create()
    rivals = [write((0, 0, 5)), write((0, 0, 5))]
    both_have_looked = threading.Barrier(2, timeout=30)
    clients = [lake.catalog(), lake.catalog()]
    for client in clients:
        Wire(client, before=once(both_have_looked.wait))
    with ThreadPoolExecutor(2) as pool:
        committed = list(pool.map(lambda pair: pair[0].land(pair[1]), zip(rivals, clients, strict=True)))
    assert sorted(result.already for result in committed) == [False, True]
    assert lake.rows() == expected((0, 5))


def test_two_committers_of_neighbouring_slices_land_both(lake: Lake, write: Write) -> None:
    lake.create()
    neighbours = [write((0, 0, 5)), write((1, 0, 5), plan_id="plan-2")]
    both_have_looked = threading.Barrier(2, timeout=30)
    clients = [lake.catalog(), lake.catalog()]
    for client in clients:
        Wire(client, before=once(both_have_looked.wait))
    with ThreadPoolExecutor(2) as pool:
        committed = list(pool.map(lambda pair: pair[0].land(pair[1]), zip(neighbours, clients, strict=True)))
    assert not any(result.already for result in committed)
    assert lake.rows() == expected((0, 5)) + expected((0, 5), partition=1)
    assert len(ledger_of(lake.load(), "main", neighbours[0].plan).holdings) == 2


def test_three_processes_land_one_announcement_once(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    with ProcessPoolExecutor(3, mp_context=get_context("spawn")) as pool:
        jobs = [
            pool.submit(land_in_process, str(lake.folder), written.plan.to_json(), written.announcement)
            for _ in range(3)
        ]
        assert sorted(job.result() for job in jobs) == [False, True, True]
    assert lake.rows() == expected((0, 5))


@pytest.mark.parametrize("answer", UNCLEAR)
def test_lost_answer_to_commit_leaves_rows_once(lake: Lake, write: Write, answer: Exception) -> None:
    lake.create()
    write((0, 0, 5)).land()
    written = write((0, 5, 9), plan_id="plan-2")
    client = lake.catalog()
    wire = Wire(client, after=fails_first(answer))
    committed = written.land(client)
    assert committed.already
    assert wire.sent == 1
    assert lake.rows() == expected((0, 9))
    assert [s.snapshot_id for s in lake.load().metadata.snapshots][-1] == committed.snapshot_id
    assert len(lake.load().metadata.snapshots) == 2
    assert all(lake.load().io.new_input(path).exists() for path in manifests_of_all_snapshots(lake))


@pytest.mark.parametrize("answer", UNCLEAR)
def test_error_before_the_request_is_retried_and_adds_once(lake: Lake, write: Write, answer: Exception) -> None:
    lake.create()
    written = write((0, 0, 5))
    client = lake.catalog()
    wire = Wire(client, before=fails_first(answer, times=3))
    assert not written.land(client).already
    assert wire.sent == 4
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


def test_files_and_manifests_of_unknown_commit_are_never_deleted(lake: Lake, write: Write) -> None:
    lake.create()
    written = write((0, 0, 5))
    client = lake.catalog()
    files: list[set[str]] = []

    def remember(attempt: int) -> None:
        files.append({str(path) for path in lake.folder.rglob("*.*") if path.suffix in (".avro", ".parquet")})
        fails_first(CommitStateUnknownException("504"), times=3)(attempt)

    Wire(client, before=remember)
    written.land(client)
    files.append({str(path) for path in lake.folder.rglob("*.*")})
    assert len(files) == 5
    assert all(earlier <= later for earlier, later in itertools.pairwise(files))


def test_catalog_that_is_down_for_a_while_is_tried_again(
    lake: Lake, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.create()
    written = write((0, 0, 5))
    client = lake.catalog()
    load, calls = client.load_table, iter(range(100))

    def flaky(identifier: str) -> object:
        if next(calls) < 2:
            msg = "refused"
            raise ConnectionError(msg)
        return load(identifier)

    monkeypatch.setattr(client, "load_table", flaky)
    assert not written.land(client).already
    assert lake.rows() == expected((0, 5))


@pytest.mark.parametrize("answer", UNCLEAR)
def test_commit_timed_out_adds_nothing_and_later_call_commits(lake: Lake, write: Write, answer: Exception) -> None:
    lake.create()
    written = write((0, 0, 5))
    client = lake.catalog()
    Wire(client, before=fails_first(answer, times=10**6))
    with pytest.raises(TableNotCommitted, match=r"'rpc\.pizzas' was not committed.*Nothing is lost.*again") as caught:
        written.land(client, timeout_s=0.05)
    assert isinstance(caught.value, Retryable)
    assert str(answer) in str(caught.value)
    assert not written.land().already
    assert lake.rows() == expected((0, 5))


def test_without_patience_there_is_one_attempt(lake: Lake, write: Write) -> None:
    lake.create()
    client = lake.catalog()
    wire = Wire(client, before=fails_first(ConnectionError("refused"), times=10**6))
    with pytest.raises(TableNotCommitted):
        write((0, 0, 5)).land(client, timeout_s=0)
    assert wire.sent == 1
