"""Row 49 on several brokers: a follower that lacks records becomes the leader, and the log grows past what was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from stack.progress import wait_until
from stack.services.broker import Broker
from tests.faults.harness.ports import lasting_port
from tests.faults.harness.producer import StampingProducer
from tests.faults.harness.run import timeout_s
from tests.faults.harness.sink import MakeSink, Sink

LEADER, FOLLOWER = 2, 3
UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[tuple[Broker, int]]:
    """The node that has the cluster's metadata and its internal topics, and the port of its controller."""
    port = lasting_port()
    one = Broker(tmp_path / "1", lasting_port(), port)
    one.start()
    yield one, port
    one.stop()


@pytest.fixture
def brokers(controller: tuple[Broker, int], tmp_path: Path) -> Iterator[dict[int, Broker]]:
    """Two more brokers, not started yet, by their node ids."""
    first, controller_port = controller
    cluster_id = _of_cluster(first.folder / "data" / "meta.properties")
    made = {}
    for node in (LEADER, FOLLOWER):
        port, folder = lasting_port(), tmp_path / str(node)
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "meta.properties").write_text(f"version=1\ncluster.id={cluster_id}\nnode.id={node}\n")
        listener = f"PLAINTEXT://127.0.0.1:{port}"
        properties = {"process.roles": "broker", "node.id": str(node), "listeners": listener}
        properties["controller.quorum.voters"] = f"1@127.0.0.1:{controller_port}"
        made[node] = Broker(folder, port, properties=properties)
    yield made
    for one in made.values():
        one.stop()


def _of_cluster(properties: Path) -> str:
    lines = dict(line.partition("=")[::2] for line in properties.read_text().splitlines() if "=" in line)
    return lines["cluster.id"]


def leader_and_in_sync(sink: Sink) -> tuple[int, set[int]]:
    """Return the leader of the topic's only partition, and the replicas that are in sync with it; -1 before it has any."""
    partition = AdminClient({"bootstrap.servers": sink.bootstrap, "log_level": 0}).list_topics(sink.topic, 30)
    found = partition.topics[sink.topic].partitions.get(0)
    return (-1, set()) if found is None else (found.leader, set(found.isrs))


def test_row_49_unclean_leader_election_is_recognised_by_the_leader_epoch(
    controller: tuple[Broker, int], brokers: dict[int, Broker], make_sink: MakeSink
) -> None:
    sink = make_sink(controller[0].bootstrap, partitions=1)
    sink.run()  # the internal topics are made while there is one broker
    for broker in brokers.values():
        broker.start()
    sink.admin.delete_topic(sink.topic)
    admin = AdminClient({"bootstrap.servers": sink.bootstrap, "log_level": 0})
    new = NewTopic(sink.topic, num_partitions=1, replica_assignment=[[LEADER, FOLLOWER]], config=UNCLEAN)
    assert wait_until(lambda: _is_made(admin, new), timeout_s(60))
    assert wait_until(lambda: leader_and_in_sync(sink) == (LEADER, {LEADER, FOLLOWER}), timeout_s(60))
    first = sink.producers[sink.topic] = StampingProducer(sink.bootstrap, sink.topic)
    first.produce(90)
    sink.run(decisions={"adopt": [sink.topic]})
    brokers[FOLLOWER].stop()
    assert wait_until(lambda: leader_and_in_sync(sink) == (LEADER, {LEADER}), timeout_s(60))
    first.produce(10)
    sink.run()
    assert sink.positions() == {0: 100}
    brokers[LEADER].stop()
    brokers[FOLLOWER].start()
    assert wait_until(lambda: leader_and_in_sync(sink)[0] == FOLLOWER, timeout_s(60))
    second = sink.producers[sink.topic] = StampingProducer(sink.bootstrap, sink.topic, seed=2)
    second.produce(30)
    assert "truncated at offset 90" in sink.refused().message
    sink.run(decisions={"adopt": [sink.topic]})
    brokers[LEADER].start()
    assert wait_until(lambda: leader_and_in_sync(sink)[1] == {LEADER, FOLLOWER}, timeout_s(60))
    second.produce(5)
    sink.catch_up()
    assert sink.rows() == Counter([*first.acks.places, *second.acks.places])
    first.close()


def _is_made(admin: AdminClient, topic: NewTopic) -> bool:
    try:
        admin.create_topics([topic])[topic.topic].result(30)
    except ck.KafkaException:
        return False  # the old topic of the name is still being removed
    return True
