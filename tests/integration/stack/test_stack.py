"""The stack on real parts."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from stack import processes
from stack.exceptions import PortTaken
from stack.services.broker import Broker
from stack.settings import free_port


def read(bootstrap: str, topic: str) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        message = consumer.poll(20)
        return [] if message is None else [message.value()]
    finally:
        consumer.close()


def test_the_broker_takes_and_gives_records(broker: Broker, topic: Callable[..., str]) -> None:
    name = topic(2, cleanup_policy="compact")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(name, b"pizza", key=b"1", partition=0)
    assert producer.flush(20) == 0
    assert read(broker.bootstrap, name) == [b"pizza"]


@pytest.mark.full
def test_stopped_broker_leaves_no_process_and_keeps_its_data(tmp_path: Path) -> None:
    one = Broker(tmp_path / "kafka", free_port(), properties={"auto.create.topics.enable": "true"})
    one.start()
    process = one.process
    assert process is not None
    one.start()
    assert one.process == process, "a second start is harmless"
    producer = Producer({"bootstrap.servers": one.bootstrap, "acks": "all", "log_level": 0})
    producer.produce("kept", b"pizza", partition=0)
    assert producer.flush(20) == 0
    one.stop()
    assert processes.family(process) == []
    assert not one.running
    one.stop()

    again = Broker(tmp_path / "kafka", free_port())
    again.start()
    try:
        assert read(again.bootstrap, "kept") == [b"pizza"]
    finally:
        again.stop()


def test_a_taken_port_is_named_before_anything_is_started(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        one = Broker(tmp_path / "kafka", listener.getsockname()[1])
        with pytest.raises(PortTaken, match="set KAFKA_PORT"):
            one.start()
    assert one.process is None
