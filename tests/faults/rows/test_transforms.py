"""Row 48: the transforms of a connector change between two runs, also while one of them is unfinished."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.harness.sink import MakeSink, Sink

TEST = ("test", b"1")
FILTER: dict[str, Any] = {
    "transforms": "drop",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.drop.predicate": "test",
    "predicates": "test",
    "predicates.test.type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
    "predicates.test.name": TEST[0],
}


def write(sink: Sink, *, filtered: bool, count: int = 100) -> None:
    """Produce records, every second one with the header; ``filtered``: whether that one is left out."""
    for number in range(count):
        sink.producer.write(partition=number % 2, meant=["db.t"], n=number)
        headers = [TEST]
        sink.producer.write(partition=number % 2, meant=[] if filtered else ["db.t"], headers=headers, n=number)
    sink.producer.flush()


def killed_at(make_sink: MakeSink, point: str) -> Sink:
    """Return a connector whose chain filters, and whose run was killed while it committed."""
    sink = make_sink(**FILTER)
    write(sink, filtered=True)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash=point).was_killed
    return sink


def without_filter(sink: Sink) -> dict[str, Any]:
    """Return the connector's keys without its chain."""
    return {key: value for key, value in sink.keys.items() if key not in FILTER}


@pytest.mark.ci
def test_row_48_filter_taken_away_repeats_nothing(make_sink: MakeSink) -> None:
    sink = make_sink(**FILTER)
    write(sink, filtered=True)
    sink.run()
    sink.keys = without_filter(sink)
    write(sink, filtered=False)
    sink.assert_exactly_once()


def test_row_48_filter_that_comes_repeats_nothing(make_sink: MakeSink) -> None:
    sink = make_sink()
    write(sink, filtered=False)
    sink.run()
    sink.keys = {**sink.keys, **FILTER}
    write(sink, filtered=True)
    sink.assert_exactly_once()


def test_row_48_finished_commit_is_not_repeated_by_another_chain(make_sink: MakeSink) -> None:
    sink = killed_at(make_sink, "commit.positions.moved")
    sink.keys = without_filter(sink)
    write(sink, filtered=False)
    sink.assert_exactly_once()


@pytest.mark.parametrize("point", ["commit.table.landed@1", "commit.positions"])
def test_row_48_landed_commit_is_finished_before_another_chain(make_sink: MakeSink, point: str) -> None:
    sink = killed_at(make_sink, point)
    before, sink.keys = sink.keys, without_filter(sink)
    other = sink.new_run()
    assert other.step("plan").is_done
    assert other.step("write").facts["error"] == "TableRefused"
    # as the error says: the old configuration, until a run succeeds
    after, sink.keys = sink.keys, before
    sink.run()
    sink.keys = after
    write(sink, filtered=False)
    sink.assert_exactly_once()


def test_row_48_chain_of_fields_keeps_its_ledger(make_sink: MakeSink) -> None:
    keys = {"transforms": "f", "transforms.f.type": "org.apache.kafka.connect.transforms.InsertField$Value"}
    sink = make_sink(**keys, **{"transforms.f.static.field": "region", "transforms.f.static.value": "eu"})
    sink.producer.produce(200)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash="commit.table.landed@1").was_killed
    sink.keys = {**sink.keys, "transforms.f.static.value": "us"}
    sink.producer.produce(200)
    sink.assert_exactly_once()
