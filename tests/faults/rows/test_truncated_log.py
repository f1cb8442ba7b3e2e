"""Row 49: a log that lost its end, and has other records at the same offsets now, as after an unclean leader election."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stack.services.broker import Broker
from tests.faults.harness.ports import lasting_port, restart
from tests.faults.harness.producer import StampingProducer
from tests.faults.harness.sink import MakeSink, Sink
from tests.faults.oracle.stamps import Stamp
from tests.support.kafka.truncated_log import truncate


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Broker]:
    """A broker of the test's own."""
    one = Broker(tmp_path / "victim", lasting_port())
    one.start()
    yield one
    one.stop()


@dataclass
class Truncated:
    """A sink of one partition, whose broker loses the end of the log and gets other records there."""

    broker: Broker
    sink: Sink
    producers: list[StampingProducer]

    def refill(self, at: int, count: int) -> None:
        """Cut the log at an offset and produce other records."""
        truncate(self.broker, self.sink.topic, at)
        # the old producer's sequence numbers are gone with its records
        self.sink.producers[self.sink.topic] = StampingProducer(self.broker.bootstrap, self.sink.topic, seed=2)
        self.sink.producer.produce(count)
        self.producers.append(self.sink.producer)

    def acknowledged(self, below: int | None = None) -> Counter[Stamp]:
        """Return each record that the broker acknowledged once; ``below``: of the first log, those up to an offset alone."""
        first, *others = self.producers
        found = {s for s, (_, _, offset) in first.acks.places.items() if below is None or offset < below}
        return Counter(found | {stamp for producer in others for stamp in producer.acks.places})


@pytest.fixture
def truncated(victim: Broker, make_sink: MakeSink) -> Iterator[Truncated]:
    sink = make_sink(victim.bootstrap, partitions=1)
    one = Truncated(victim, sink, [sink.producer])
    yield one
    for producer in one.producers:
        producer.close()


@pytest.mark.ci
def test_row_49_truncated_and_refilled_log_is_refused_until_reset(
    truncated: Truncated,
) -> None:
    sink = truncated.sink
    sink.producer.produce(90)
    sink.producer.produce(10)
    sink.run()
    truncated.refill(90, 30)  # to 120, above the position
    refused = sink.refused()
    assert "truncated at offset 90" in refused.message
    assert "the position is 100" in refused.message
    assert f'reset_topics=["{sink.topic}"]' in refused.message
    assert sink.positions() == {0: 100}
    sink.run(decisions={"adopt": [sink.topic]})
    assert sink.positions() == {0: 120}
    sink.producer.produce(5)
    sink.catch_up()
    assert sink.rows() == truncated.acknowledged()


def test_row_49_rows_of_a_commit_that_died_before_its_position(
    truncated: Truncated,
) -> None:
    """The table has offsets above the position, of the log that was cut between them."""
    sink = truncated.sink
    sink.producer.produce(90)
    sink.run()
    sink.producer.produce(20)
    sink.producer.produce(10)
    run = sink.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    assert run.step("commit", crash="commit.positions").was_killed
    truncated.refill(110, 40)
    assert sink.positions() == {0: 90}
    refused = sink.refused()
    assert "truncated at offset 110" in refused.message
    assert "had planned the offsets up to 120" in refused.message
    sink.run(decisions={"adopt": [sink.topic]})
    sink.catch_up()
    assert sink.rows() == truncated.acknowledged()


def test_row_49_truncated_between_plan_and_write_announces_nothing(
    truncated: Truncated,
) -> None:
    sink = truncated.sink
    sink.producer.produce(90)
    sink.run()
    sink.producer.produce(20)
    sink.producer.produce(10)
    run = sink.new_run()
    assert run.step("plan").is_done
    truncated.refill(110, 40)
    failed = run.step("write")
    assert "was truncated since the range" in failed.message
    assert not run.step("commit").is_done
    assert sink.snapshots() == 1
    assert "truncated at offset 110" in sink.refused().message
    sink.run(decisions={"adopt": [sink.topic]})
    sink.catch_up()
    assert sink.rows() == truncated.acknowledged(below=110)


def test_row_49_positions_recovered_from_a_table_are_verified_too(
    truncated: Truncated,
) -> None:
    sink = truncated.sink
    sink.producer.produce(90)
    sink.producer.produce(10)
    sink.run()
    truncated.refill(90, 30)
    sink.admin.delete_group(sink.group)
    assert "recover" in sink.refused().message
    assert "truncated at offset 90" in sink.refused(decisions={"recover": True}).message
    sink.run(decisions={"recover": True, "adopt": [sink.topic]})
    sink.catch_up()
    assert sink.rows() == truncated.acknowledged()


def test_row_49_a_new_leader_with_the_same_log_is_read_on(victim: Broker, make_sink: MakeSink) -> None:
    sink = make_sink(victim.bootstrap)
    for _ in range(3):
        sink.producer.produce(100)
        sink.run()
        restart(victim)
    sink.producer.produce(100)
    sink.assert_exactly_once()
