"""Records that others write to the control topic."""

from __future__ import annotations

from collections.abc import Sequence

import confluent_kafka as ck

from floe.control.topic_reader import control_ends, read_control
from floe.kafka.admin import Cluster
from floe.kafka.transactions import ControlRecord
from floe.model.plan import Plan
from tests.support.runs.pipeline import Pipeline


def forge(pizzas: Pipeline, records: Sequence[ControlRecord], partition: int = 0) -> None:
    """Write records to the control topic as anybody may who has Write on it."""
    producer = ck.Producer({"bootstrap.servers": pizzas.bootstrap})
    for record in records:
        producer.produce(
            pizzas.connector.control_topic,
            value=record.value,
            key=pizzas.connector.group_id,
            headers=record.headers,
            partition=partition,
        )
    assert producer.flush(30) == 0


def sent(pizzas: Pipeline, plan: Plan) -> list[ControlRecord]:
    """Return what the control topic has since a plan was made."""
    topic = pizzas.connector.control_topic
    ends = control_ends(Cluster.of_control(pizzas.settings), topic)
    found = read_control(pizzas.settings, topic, plan.control_ends, ends)
    return [ControlRecord(one.value, list(one.headers.items())) for one in found]
