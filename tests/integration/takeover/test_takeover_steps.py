"""The takeover step by step: what it finds and what it commits. The sink is a double."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from floe.kafka.admin import Cluster
from floe.model.offsets import TopicPartition
from floe.takeover.exceptions import TakeoverBlocked
from floe.takeover.hand_back import hand_back
from tests.support.runs.takeover_stage import PASTA, PIZZAS, SALADS, Stage


def test_pending_files_and_ledger_are_one_snapshot_per_table(stage: Stage) -> None:
    ends = stage.control_ends()
    report = stage.take_over()
    assert {t.table: (t.files, t.rows) for t in report.tables} == {PIZZAS: (2, 50), PASTA: (1, 50), SALADS: (0, 0)}
    for name in (PIZZAS, PASTA):
        assert len(stage.sink.load(name).snapshots()) == 2
        assert stage.message(name) == ends
    stage.assert_taken()
    stage.assert_goes_on()


def test_tables_named_by_records_are_found_by_sink_snapshots(make_stage: Callable[..., Stage]) -> None:
    named = {"iceberg.tables": None, "iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "to"}
    one = make_stage(**named)
    one.sink.create("db.other")
    one.play()
    report = one.take_over()
    assert sorted(taken.table for taken in report.tables) == sorted([PIZZAS, PASTA])
    one.assert_taken()
    one.pipeline.produce([{"id": 150, "to": PIZZAS}, {"id": 151, "to": "db.new"}])
    one.pipeline.run()
    assert one.rows(PIZZAS) == list(range(151))
    assert one.rows("db.new") == [151]
    assert one.ledger("db.other") is None


def test_taking_over_again_changes_nothing(stage: Stage) -> None:
    stage.take_over()
    before = stage.state()
    assert stage.take_over().already
    assert stage.state() == before
    stage.assert_goes_on()
    assert stage.take_over().already


def test_tables_with_nothing_pending_get_the_seed_too(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage()
    stage.produce(0, 10)
    stage.sink.create(PIZZAS)
    stage.sink.create(PASTA)
    stage.sink.set_positions({0: 10})
    assert [t.files for t in stage.take_over().tables] == [0, 0, 0]
    assert stage.held(PIZZAS) == stage.held(PASTA) == {"java": [(0, 10)]}
    assert stage.rows(PIZZAS) == []


def test_file_announced_twice_or_present_is_committed_once(stage: Stage) -> None:
    files = stage.sink.write(PIZZAS, range(150, 160))
    event = stage.sink.written(PIZZAS, files)
    stage.produce(150, 160)
    stage.sink.announce(event, complete=False)
    stage.sink.announce(event, positions={0: 160})
    stage.sink.announce(stage.written(PASTA, 150, 160))
    stage.take_over()
    stage.assert_taken(160)


def test_an_aborted_announcement_does_not_count(stage: Stage) -> None:
    producer = stage.sink.open([stage.written(PIZZAS, 500, 600)])
    producer.abort_transaction(30)
    stage.take_over()
    stage.assert_taken()


def test_what_lies_behind_an_open_transaction_is_waited_for(stage: Stage) -> None:
    hanging = stage.sink.open([stage.written(PIZZAS, 500, 600)])
    stage.produce(150, 170)
    stage.sink.announce(stage.written(PIZZAS, 150, 170), stage.written(PASTA, 150, 170), positions={0: 170})
    ended = threading.Timer(2, lambda: hanging.abort_transaction(30))
    began = time.monotonic()
    ended.start()
    stage.take_over()
    ended.join()
    assert time.monotonic() - began > 1.5
    stage.assert_taken(170)


def test_an_open_transaction_that_does_not_end_blocks_it(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floe.takeover.sink_state.TRANSACTION_TIMEOUT", -14.5)
    hanging = stage.sink.open([stage.written(PIZZAS, 500, 600)])
    with pytest.raises(TakeoverBlocked, match=r"an open transaction hides \["):
        stage.take_over()
    hanging.abort_transaction(30)
    stage.take_over()
    stage.assert_taken()


def test_a_branch_is_taken_over_as_a_branch(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(**{"iceberg.tables.default-commit-branch": "audit", "iceberg.tables": PIZZAS})
    stage.produce(0, 30)
    stage.sink.create(PIZZAS)
    stage.sink.announce(stage.written(PIZZAS, 0, 30), positions={0: 30})
    stage.take_over()
    assert stage.rows(PIZZAS, "audit") == list(range(30))
    assert stage.rows(PIZZAS) == []
    assert stage.held(PIZZAS) == {"java": [(0, 30)]}


def test_positions_of_other_topics_are_kept_as_they_are(stage: Stage, topic: Callable[..., str]) -> None:
    other = topic(1)
    stage.sink.set_positions({0: 7}, topic=other)
    stage.take_over()
    found = stage.pipeline.positions()
    assert (found[TopicPartition(other, 0)].offset, found[TopicPartition(other, 0)].metadata) == (7, "")
    assert len(found) == 2


def test_tabular_group_is_read_for_positions_and_returned_to(make_stage: Callable[..., Stage]) -> None:
    stage = make_stage(**{"connector.class": "io.tabular.iceberg.connect.IcebergSinkConnector"})
    group = f"cg-control-{stage.connector.name}"
    assert stage.sink.group == stage.connector.sink_group_id == group
    stage.play()
    # its second transaction, to the group of Kafka Connect, was not made any more
    stage.sink.set_positions({0: 100}, stage.connector.group_id)
    stage.take_over()
    stage.assert_taken()
    stage.assert_goes_on()
    assert stage.take_over().already
    hand_back(stage.connector, stage.settings)
    found = Cluster.of_control(stage.settings).positions(group)
    assert {tp.partition: p.offset for tp, p in found.items()} == {0: 170}
    stage.produce(170, 180)
    stage.sink.announce(stage.written(PIZZAS, 170, 180), stage.written(PASTA, 170, 180), positions={0: 180})
    assert not stage.take_over().already
    assert stage.rows(PIZZAS) == stage.rows(PASTA) == list(range(180))


def test_second_takeover_skips_what_floe_announced(stage: Stage) -> None:
    stage.take_over()
    stage.produce(150, 170)
    stage.pipeline.write(stage.pipeline.plan())  # and never committed
    hand_back(stage.connector, stage.settings)
    stage.sink.announce(stage.written(PIZZAS, 150, 170), stage.written(PASTA, 150, 170), positions={0: 170})
    stage.take_over()
    assert stage.rows(PIZZAS) == stage.rows(PASTA) == list(range(170))
    assert stage.held(PIZZAS) == {"java": [(0, 170)]}
