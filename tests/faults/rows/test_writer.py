"""Rows 1 to 5, 17, 21 and 42: writers that are killed, held, doubled, or run out of memory."""

from __future__ import annotations

import resource
import time
from contextlib import suppress
from pathlib import Path

import pytest

from stack.progress import wait_until
from tests.faults.harness.run import Attempt, JobResult, timeout_s
from tests.faults.harness.sink import MakeSink, Sink
from tests.faults.harness.spark_workers import workers


@pytest.mark.ci
def test_row_01_writer_killed_before_file_close_reads_again(sink: Sink) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    planned = run.step("plan")
    assert run.step("write", crash="write.files").was_killed
    sink.producer.produce(300)
    assert run.step("write").facts["how"] == "written"
    assert run.step("commit").is_done
    assert sum(sink.positions().values()) == sum(end - start for start, end in planned.facts["ranges"].values())
    sink.assert_exactly_once()


def test_row_02_files_of_killed_writer_are_never_referenced(sink: Sink) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write", crash="write.files.closed").was_killed
    assert run.persist("write").is_done
    assert run.step("commit").is_done
    report = sink.assert_exactly_once()
    assert sum(map(len, report.orphans.values())) > 0


@pytest.mark.ci
def test_row_03_writer_killed_in_transaction_is_aborted_by_next(sink: Sink) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write", crash="transaction.sent").was_killed
    assert run.persist("write").facts["how"] == "written"
    assert run.step("commit").is_done
    assert len(sink.announcements()) == 1
    sink.assert_exactly_once()


@pytest.mark.parametrize("point", ["transaction.committed", "write.announced"])
def test_row_04_writer_killed_after_announcing_announces_once(sink: Sink, point: str) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write", crash=point).was_killed
    assert run.persist("write").facts["how"] == "announced already"
    assert run.step("commit").is_done
    assert len(sink.announcements()) == 1
    sink.assert_exactly_once()


def test_row_05_of_twins_that_both_finish_one_is_announced(sink: Sink) -> None:
    sink.producer.produce(500)
    sink.run(twins=True)
    assert len(sink.announcements()) == 1
    report = sink.assert_exactly_once()
    assert sum(map(len, report.orphans.values())) > 0


@pytest.mark.ci
def test_row_05_result_lost_on_way_to_driver_fails_record_counts(sink: Sink) -> None:
    sink.producer.produce(100)
    sink.run()
    sink.producer.produce(500)
    run = sink.new_run(loses_a_result=True)
    assert run.step("plan").is_done
    assert run.step("write").error == "CountsDoNotAddUp"
    assert len(sink.announcements()) == 1
    sink.assert_exactly_once()


@pytest.mark.parametrize(
    ("master", "said"), [("local[2,4]", "Lost task"), ("local[2]", "All 2 tasks run once more")], ids=["spark", "floe"]
)
def test_row_05_python_worker_killed_one_attempt_is_announced(make_sink: MakeSink, master: str, said: str) -> None:
    """Spark tries the task again, or floe all of them where Spark is told to try none."""
    sink = make_sink(partitions=2)
    sink.producer.produce(120_000, pad=100)
    sink.run(max_records=10)
    run = sink.new_run(spark=master)
    assert run.step("plan").is_done
    writing = run.start("write")
    assert wait_until(lambda: bool(workers(writing)), timeout_s(60), pause=0.01), writing.tail()
    time.sleep(0.1)
    workers(writing)[0].kill()
    assert writing.finish(timeout_s(180)).is_done, writing.tail()
    assert said in writing.log.read_text(), writing.tail()
    assert run.persist("commit").is_done
    assert len(sink.announcements()) == 2
    sink.assert_exactly_once()


@pytest.mark.ci
def test_row_17_zombie_writer_announcing_after_commit_is_ignored(sink: Sink) -> None:
    sink.producer.produce(500)
    old = sink.new_run()
    assert old.step("plan").is_done
    zombie = old.held("write", "write.files.closed")
    sink.run()
    zombie.go_on()
    zombie.finish()
    assert len(sink.announcements()) == 2
    sink.producer.produce(200)
    sink.run()
    late = old.step("commit")
    assert late.facts.get("done_before") or late.is_refused, late
    sink.assert_exactly_once()
    assert sink.snapshots() == 2


@pytest.mark.ci
def test_row_21_late_abort_fences_writer_announces_once(sink: Sink) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    assert run.step("plan").is_done
    zombie = run.held("write", "transaction.sent")
    assert run.persist("write").facts["how"] == "written"
    zombie.go_on()
    assert not zombie.finish().is_done
    assert run.step("commit").is_done
    assert len(sink.announcements()) == 1
    sink.assert_exactly_once()


def test_row_21_range_announced_twice_is_committed_once(sink: Sink) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    assert run.step("plan").is_done
    second = run.held("write", "write.files.closed")
    assert run.step("write").facts["how"] == "written"
    second.go_on()
    assert second.finish().is_done
    assert len(sink.announcements()) == 2
    assert run.step("commit").is_done
    sink.assert_exactly_once()


def test_row_21_range_without_announcement_is_planned_again(sink: Sink) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write", crash="write.announce").was_killed
    failed = run.persist("commit")
    assert failed.error == "SliceNotWritten", failed
    assert sum(sink.positions().values()) == 0
    sink.assert_exactly_once()


def test_row_42_writer_out_of_memory_is_repeated_with_same_ends(make_sink: MakeSink) -> None:
    sink = make_sink(**{"floe.max-records-per-run": 12_000})
    sink.producer.produce(500)
    sink.run()
    sink.producer.produce(20_000, pad=4_000)
    run = sink.new_run()
    ends = run.step("plan").facts["ranges"]
    assert sum(end - start for start, end in ends.values()) == 12_000
    assert killed_above(run.start("write"), megabytes=15).was_killed
    assert run.step("write", crash="write.files@2").was_killed
    sink.producer.produce(500)
    assert run.step("plan").facts["ranges"] == ends
    assert run.persist("write").is_done
    assert run.step("commit").is_done
    sink.assert_exactly_once()


def killed_above(attempt: Attempt, megabytes: int) -> JobResult:
    """Kill a step once it takes so many megabytes more than at its start, as the kernel does in a container."""
    resident = Path(f"/proc/{attempt.child.pid}/statm")
    first = int(resident.read_text().split()[1])
    most = first + megabytes * 1024 * 1024 // resource.getpagesize()
    with suppress(OSError):
        while attempt.child.is_running:
            if int(resident.read_text().split()[1]) > most:
                return attempt.kill()
    return attempt.finish()
