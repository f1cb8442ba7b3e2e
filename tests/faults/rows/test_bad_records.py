"""Rows 30 and 31: bad records, among good ones and alone. Tables and dead letters are judged together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import confluent_kafka as ck
import pytest

from tests.faults.harness import foreign
from tests.faults.harness.dead_letters import DEAD_LETTERS, POISON, dead_letters, known, mixed, resolved
from tests.faults.harness.run import STEPS
from tests.faults.harness.sink import MakeSink, Sink
from tests.support.runs.poison import MALFORMED, UNFIT

MEGABYTE = 1024 * 1024


@pytest.mark.ci
def test_row_30_every_bad_record_becomes_dead_letter_others_rows(lettered: Sink) -> None:
    mixed(lettered, POISON)
    lettered.run()
    assert dead_letters(lettered) == {
        ("value_converter", "db.t"): 2 * len(MALFORMED),
        ("coerce", "db.t"): 2 * len(UNFIT),
    }
    lettered.assert_exactly_once()


def test_row_30_of_a_key_given_twice_the_last_counts(lettered: Sink) -> None:
    for partition in (0, 1):
        for _ in range(20):
            whole = lettered.producer.next_value(n=7, note="twice")
            lettered.producer.write(partition=partition, value=b'{"n": "x", "seq": -5, "run": [{}], ' + whole[1:])
    lettered.producer.flush()
    lettered.run()
    assert dead_letters(lettered) == {}
    lettered.assert_exactly_once()


def test_row_30_records_of_many_megabytes_land_or_are_kept_whole(make_sink: MakeSink) -> None:
    sink = known(
        make_sink(
            topic_config={"max.message.bytes": str(32 * MEGABYTE)},
            largest=32 * MEGABYTE,
            **{"floe.deadletter.table": DEAD_LETTERS},
        )
    )
    large = "ü" * (6 * MEGABYTE)
    sink.producer.write(n=1, note=large)
    for kind in ("no JSON", "a fraction", "an array"):
        sink.producer.write(POISON[kind], n=2, note=large)
        sink.producer.write(n=3, note="a neighbour")
    sink.producer.flush()
    sink.run()
    assert dead_letters(sink).total() == 3
    sink.assert_exactly_once()


@pytest.mark.parametrize("tables", [("db.a", "db.b")])
def test_row_30_each_table_judges_for_itself(make_sink: MakeSink, tables: tuple[str, ...]) -> None:
    sink = known(make_sink(tables=tables, **{"floe.deadletter.table": DEAD_LETTERS}))
    mixed(sink, POISON)
    sink.run()
    assert {table for _, table in dead_letters(sink)} == set(tables)
    sink.assert_exactly_once()


KILLS = [
    ("write", "write.files.closed"),
    ("write", "write.announced"),
    ("commit", "commit.table@1"),
    ("commit", "commit.table.landed@1"),
    ("commit", "commit.table@2"),
    ("commit", "commit.table@3"),
    ("commit", "commit.table.landed@3"),
    ("commit", "commit.positions"),
    ("commit", "commit.positions.moved"),
]
"""Of the commit's tables the letters are the first."""


@pytest.mark.parametrize(("step", "point"), KILLS)
@pytest.mark.parametrize("how", ["retried", "given up"])
def test_row_30_letters_are_neither_lost_nor_doubled_by_a_kill(
    make_sink: MakeSink, step: str, point: str, how: str
) -> None:
    sink = known(make_sink(tables=["db.a", "db.b"], **{"floe.deadletter.table": DEAD_LETTERS}))
    mixed(sink, POISON)
    run = sink.new_run()
    for before in STEPS[: STEPS.index(step)]:
        assert run.step(before).is_done
    assert run.step(step, crash=point).was_killed
    count = 2 * 2 * len(POISON)
    assert dead_letters(sink).total() == (0 if step == "write" or point == "commit.table@1" else count)
    mixed(sink, POISON)
    if how == "retried":
        assert all(run.persist(later).is_done for later in STEPS[STEPS.index(step) :])
    sink.assert_exactly_once()
    assert dead_letters(sink).total() == 2 * count


def test_row_30_dead_letter_commit_with_lost_answer_adds_once(lettered: Sink) -> None:
    mixed(lettered, POISON)
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    zombie = run.held("commit", "commit.table@1")
    assert run.step("commit").is_done
    zombie.go_on()
    zombie.finish()
    assert dead_letters(lettered).total() == 2 * len(POISON)
    lettered.assert_exactly_once()


@pytest.mark.parametrize("how", [foreign.drop, foreign.replace], ids=["dropped", "replaced"])
def test_row_30_without_the_letters_no_table_goes_past_them(lettered: Sink, how: Callable[[Sink, str], None]) -> None:
    mixed(lettered, POISON)
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    lettered.watcher.disturbed.add(DEAD_LETTERS)
    how(lettered, DEAD_LETTERS)
    before = lettered.snapshots(), lettered.positions()
    message = run.step("commit")
    assert message.is_refused, message
    assert DEAD_LETTERS in message.message
    assert (lettered.snapshots(), lettered.positions()) == before
    if how is foreign.replace:
        foreign.drop(lettered, DEAD_LETTERS)
    lettered.watcher.disturbed.clear()
    lettered.assert_exactly_once()
    assert dead_letters(lettered).total() == 2 * len(POISON)


def test_row_30_a_table_that_owes_is_judged_once_for_the_letters(make_sink: MakeSink) -> None:
    sink = known(make_sink(tables=["db.a", "db.b"], **{"floe.deadletter.table": DEAD_LETTERS}))
    with foreign.broken_ledger(sink, "db.b"):
        mixed(sink, POISON)
        assert sink.new_run().carry_out()[-1].is_refused
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash="commit.table.landed@1").was_killed
    sink.settle()
    assert dead_letters(sink).total() == 2 * 2 * len(POISON)
    sink.assert_exactly_once()


@pytest.mark.parametrize(("step", "point"), [("write", "write.announce"), ("commit", "commit.table@1")])
def test_row_30_killed_run_leaves_dead_letters_at_least_once(make_sink: MakeSink, step: str, point: str) -> None:
    topic = "letters-of-row-30-" + step
    more = {"errors.deadletterqueue.topic.name": topic, "errors.deadletterqueue.topic.replication.factor": 1}
    sink = known(make_sink(**more, **{"floe.deadletter.table": DEAD_LETTERS}))
    mixed(sink, POISON)
    run = sink.new_run()
    for before in STEPS[: STEPS.index(step)]:
        assert run.step(before).is_done
    assert run.step(step, crash=point).was_killed
    sink.assert_exactly_once()
    there = Counter(values_of(sink.bootstrap, topic))
    expected = Counter(values_of(sink.bootstrap, sink.topic, only_keyed=True))
    assert there.keys() == expected.keys()
    assert all(there[value] >= count for value, count in expected.items())


def values_of(bootstrap: str, topic: str, *, only_keyed: bool = False) -> list[tuple[bytes | None, bytes | None]]:
    """Read key and value of all records of a topic."""
    conf = {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.partition.eof": True}
    consumer = ck.Consumer({**conf, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    partitions = consumer.list_topics(topic, timeout=30).topics[topic].partitions
    consumer.assign([ck.TopicPartition(topic, partition, 0) for partition in partitions])
    found: list[Any] = []
    ended: set[int | None] = set()
    while len(ended) < len(partitions):
        for message in consumer.consume(1000, 0.5):
            if message.error() is not None:
                ended.add(message.partition())
            elif message.key() is not None or not only_keyed:
                found.append((message.key(), message.value()))
    consumer.close()
    return found


@pytest.mark.parametrize("point", [None, "commit.table@1", "commit.marks", "commit.marks.landed", "commit.positions"])
@pytest.mark.parametrize("how", ["retried", "given up"])
def test_row_30_dead_letter_of_fixed_table_is_resolved_once(lettered: Sink, point: str | None, how: str) -> None:
    foreign.add_column(lettered, name="extra", kind="boolean")
    for partition in (0, 1):
        lettered.producer.write(partition=partition, n=1)
        lettered.producer.write(partition=partition, n=1, extra=5, doubtful=True)
    lettered.producer.flush()
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash="commit.table.landed@1").was_killed
    assert dead_letters(lettered) == {("coerce", "db.t"): 2}
    foreign.drop_column(lettered, "extra")
    if point is not None:
        again = lettered.new_run()
        assert again.step("plan").is_done
        assert again.step("write").is_done
        assert again.step("commit", crash=point).was_killed
        if how == "retried":
            assert again.persist("commit").is_done
    lettered.assert_exactly_once()
    assert resolved(lettered) == 2


def only_poison(sink: Sink, times: int = 3) -> int:
    """Produce poison of every kind and nothing else; return how many records that is."""
    for _ in range(times):
        for partition in (0, 1):
            for poison in POISON.values():
                sink.producer.write(poison, partition, n=1, note="")
    sink.producer.flush()
    return 2 * times * len(POISON)


@pytest.mark.ci
def test_row_31_range_of_bad_records_moves_position(lettered: Sink) -> None:
    before, snapshots = sum(lettered.positions().values()), lettered.snapshots()
    count = only_poison(lettered)
    lettered.run()
    assert sum(lettered.positions().values()) == before + count
    assert lettered.snapshots() == snapshots
    assert dead_letters(lettered).total() == count
    mixed(lettered, {})
    lettered.assert_exactly_once()


def test_row_31_poison_before_any_table_exists_makes_none(make_sink: MakeSink) -> None:
    sink = make_sink(**{"floe.deadletter.table": DEAD_LETTERS})
    for partition in (0, 1):
        for poison in MALFORMED.values():
            sink.producer.write(poison, partition, n=1)
    sink.producer.flush()
    sink.run()
    assert sink.pointers["db.t"].location() is None
    assert sum(sink.positions().values()) == 2 * len(MALFORMED)
    mixed(sink, {})
    sink.assert_exactly_once()


@pytest.mark.parametrize("point", ["commit.table@1", "commit.table.landed@1", "commit.positions"])
@pytest.mark.parametrize("how", ["retried", "given up"])
def test_row_31_letters_of_nothing_but_poison_survive_a_kill(lettered: Sink, point: str, how: str) -> None:
    count = only_poison(lettered)
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash=point).was_killed
    if how == "retried":
        assert run.persist("commit").is_done
    else:
        count += only_poison(lettered)
    lettered.assert_exactly_once()
    assert dead_letters(lettered).total() == count


def test_row_31_bad_records_above_ratio_fail_before_announcing(make_sink: MakeSink) -> None:
    sink = known(make_sink(**{"floe.deadletter.table": DEAD_LETTERS, "floe.deadletter.max-ratio": "0.3"}))
    mixed(sink, POISON, good=10)
    before, announced = sink.positions(), len(sink.announcements())
    run = sink.new_run()
    assert run.step("plan").is_done
    refused = run.step("write")
    assert refused.is_refused, refused
    assert refused.error == "TooManyDeadLetters"
    assert "max-ratio is 0.3" in refused.message
    assert len(sink.announcements()) == announced
    assert sink.positions() == before
    assert dead_letters(sink) == {}
    sink.keys["floe.deadletter.max-ratio"] = "0.9"
    sink.assert_exactly_once()
    assert dead_letters(sink).total() == 2 * len(POISON)
