"""Rows 1 to 5: writers that are killed."""

from __future__ import annotations

from faults.sink import Sink


def test_row_01_a_writer_killed_before_any_file_is_closed_reads_the_same_ranges_again(sink: Sink) -> None:
    sink.producer.produce(500)
    run = sink.new_run()
    planned = run.step("plan")
    assert run.step("write", crash="write.files").was_killed
    sink.producer.produce(300)
    assert run.step("write").facts["how"] == "written"
    assert run.step("commit").is_done
    assert sum(sink.positions().values()) == sum(end - start for start, end in planned.facts["ranges"].values())
    sink.assert_exactly_once()
