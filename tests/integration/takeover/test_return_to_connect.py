"""The way back: a connector is returned to Kafka Connect."""

from __future__ import annotations

from collections.abc import Callable

import confluent_kafka as ck
import pytest

from floe.kafka.admin import Cluster
from floe.model.positions import PartitionBacklog
from floe.takeover.exceptions import HandBackRefused
from floe.takeover.hand_back import hand_back
from tests.support.runs.takeover_stage import PASTA, PIZZAS, Stage


def not_handed_back(stage: Stage, match: str) -> None:
    before = stage.state()
    with pytest.raises(HandBackRefused, match=match):
        hand_back(stage.connector, stage.settings)
    assert stage.state() == before


def test_a_hand_back_tells_every_table_and_moves_nothing(stage: Stage) -> None:
    stage.take_over()
    before = stage.state()
    report = hand_back(stage.connector, stage.settings)
    after = stage.state()
    assert {name: snapshot is not None for name, snapshot in report.tables.items()} == {PIZZAS: True, PASTA: True}
    assert after["positions"] == before["positions"]
    coordinator = Cluster.of_control(stage.settings).positions(f"{stage.connector.group_id}-coord")
    assert stage.message(PIZZAS) == stage.message(PASTA) == before["control"]
    assert {tp.partition: p.offset for tp, p in coordinator.items()} == before["control"]


def test_a_connector_that_floe_does_not_have_is_not_handed_back(stage: Stage, make_stage: Callable[..., Stage]) -> None:
    not_handed_back(stage, r"was not written by floe: the sink has run since")
    not_handed_back(make_stage(), r"has no positions: floe never ran for it")


def test_a_ledger_above_the_position_is_not_handed_back(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.take_over()
    stage.produce(150, 170)
    plan = stage.pipeline.plan()
    stage.pipeline.write(plan)
    with monkeypatch.context() as dying:

        def die(*_args: object) -> None:
            raise KeyboardInterrupt

        dying.setattr("floe.commit.run_commit.move_positions", die)
        with pytest.raises(KeyboardInterrupt):
            stage.pipeline.commit(plan)
    not_handed_back(stage, r"up to 170, but the position is 150: a run failed before it committed the offsets")
    stage.pipeline.run()
    hand_back(stage.connector, stage.settings)


def test_a_debt_is_not_handed_back(stage: Stage) -> None:
    stage.take_over()
    (position,) = stage.pipeline.positions().values()
    behind = position.metadata_fields.behind({PASTA: PartitionBacklog(100, "r")}).encode()
    producer = ck.Producer({"bootstrap.servers": stage.pipeline.bootstrap, "transactional.id": "debtor"})
    producer.init_transactions(30)
    producer.begin_transaction()
    lender = ck.Consumer({"bootstrap.servers": stage.pipeline.bootstrap, "group.id": stage.connector.group_id})
    tp = ck.TopicPartition(stage.pipeline.topic, 0, position.offset, metadata=behind)
    producer.send_offsets_to_transaction([tp], lender.consumer_group_metadata(), 30)
    producer.commit_transaction(30)
    lender.close()
    not_handed_back(stage, r"table 'db\.pasta' is behind on .* from 100 on")
