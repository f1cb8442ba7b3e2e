"""Faults in topics and tables: other transactions, other writers, and what an operator has to decide about."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable

import confluent_kafka as ck

from stack import processes
from tests.faults.harness import foreign
from tests.faults.harness.ports import restart
from tests.faults.soak.stage import ROUTES, TABLES, Stage
from tests.support.runs.poison import Poison


def partition(stage: Stage) -> int:
    """Choose a partition."""
    return stage.chance.randrange(len(stage.sink.producer.partitions()))


def abort(stage: Stage) -> None:
    stage.sink.producer.abort(stage.chance.randrange(1, 50), partition(stage))


def hang(stage: Stage) -> None:
    """Leave a transaction open for a while; the one before it ends."""
    while stage.hanging:
        stage.hanging.pop()()
    stage.hanging.append(stage.sink.producer.hang(stage.chance.randrange(1, 20), partition(stage)))


def tombstones(stage: Stage) -> None:
    stage.sink.producer.tombstones(stage.chance.randrange(1, 20), partition(stage))


def poison(stage: Stage) -> None:
    """Produce bad records of every kind, those that a table's columns refuse once both tables are there."""
    kinds = {**stage.kinds.malformed, **(stage.kinds.unfit if all(map(stage.sink.snapshots, TABLES)) else {})}
    for one in kinds.values():
        to = stage.chance.choice(["a", "b", "ab"])
        stage.sink.producer.write(one, partition(stage), meant=ROUTES[to], to=to, n=1, note="")
    stage.sink.producer.flush()


def unroutable(stage: Stage) -> None:
    """Produce records whose route is missing or null."""
    unroutable = Poison(stage.kinds.whole, "route", "")
    for fields in ({}, {"to": None}):
        stage.sink.producer.write(unroutable, partition(stage), n=1, **fields)
    stage.sink.producer.flush()


def on_a_table(act: Callable[..., None]) -> Callable[[Stage], None]:
    """Do something to one of the tables, if it is there."""

    def fault(stage: Stage) -> None:
        table = stage.chance.choice(TABLES)
        if stage.sink.snapshots(table):
            act(stage.sink, table)

    return fault


def kill_broker(stage: Stage) -> None:
    restart(stage.broker)


def hold_broker(stage: Stage) -> None:
    """Hold the broker for some seconds while a run begins."""
    assert stage.broker.process is not None
    processes.send(stage.broker.process, signal.SIGSTOP)
    run = stage.sink.new_run().start("run")
    time.sleep(stage.chance.uniform(1, 5))
    processes.send(stage.broker.process, signal.SIGCONT)
    stage.note(run.finish())


def delete_group(stage: Stage) -> None:
    stage.sink.admin.delete_group(stage.sink.group)
    stage.decisions["recover"] = True


def rewind(stage: Stage) -> None:
    """Set a position back, with what floe wrote beside it: its records are read again."""
    _commit_offset(stage, keeps_metadata=True)


def overwrite(stage: Stage) -> None:
    """Set a position as another tool would, without floe's metadata."""
    _commit_offset(stage, keeps_metadata=False)
    stage.decisions["recover"] = True


def _commit_offset(stage: Stage, *, keeps_metadata: bool) -> None:
    consumer = ck.Consumer({"bootstrap.servers": stage.sink.bootstrap, "group.id": stage.sink.group, "log_level": 0})
    try:
        asked = [ck.TopicPartition(stage.sink.topic, partition(stage))]
        (found,) = consumer.committed(asked, timeout=30)
        offset = stage.chance.randrange(max(1, found.offset))
        metadata = found.metadata if keeps_metadata else "another process"
        # below the log start nothing could be read again
        low, _ = consumer.get_watermark_offsets(found, timeout=30)
        back = ck.TopicPartition(found.topic, found.partition, max(low, offset), metadata=metadata or "")
        if found.offset >= 0:
            consumer.commit(offsets=[back], asynchronous=False)
    finally:
        consumer.close()


def delete_control_topic(stage: Stage) -> None:
    stage.sink.admin.delete_topic(stage.sink.control_topic)


def add_partition(stage: Stage) -> None:
    count = len(stage.sink.producer.partitions())
    if count < 8:
        stage.sink.add_partitions(count + 1)


def remove_records(stage: Stage) -> None:
    """Remove records that were not read yet, as retention does."""
    sink = stage.sink
    chosen = partition(stage)
    sink.producer.produce(stage.chance.randrange(20, 60), chosen)
    sink.observe()
    position = sink.marks().get((sink.topic, chosen))
    log = sink.present(chosen)
    records = sink.log.partitions[log]
    start = position.offset if position is not None else 0
    unread = [offset for offset in records.offsets if offset >= start]
    if len(unread) < 2:
        return
    end = unread[len(unread) // 2]
    sink.delete_records({chosen: end})
    sink.excuse("*", sink.topic, chosen, start, end)
    for table, backlog in (position.backlogs if position is not None else {}).items():
        sink.excuse(table, sink.topic, chosen, backlog, end)
    stage.decisions["accept_loss"] = True


def re_create_topic(stage: Stage) -> None:
    """Delete the topic, with what was not read of it, and create it again."""
    sink = stage.sink
    while stage.hanging:
        stage.hanging.pop()()
    sink.observe()
    marks = sink.marks()
    count = len(sink.producer.partitions())
    for number in range(count):
        log = sink.present(number)
        position = marks.get((sink.topic, number))
        end = max([0, *sink.log.partitions[log].offsets]) + 1
        sink.excuse("*", sink.topic, number, position.offset if position is not None else 0, end)
        for table, backlog in (position.backlogs if position is not None else {}).items():
            sink.excuse(table, sink.topic, number, backlog, end)
    sink.delete_topics([sink.topic])
    sink.create_topic(sink.topic, count)
    stage.decisions["adopt"] = [sink.topic]


def roll_back(stage: Stage) -> None:
    """Set a table back by one or two snapshots, to have the rows read again."""
    table = stage.chance.choice(TABLES)
    if stage.sink.snapshots(table) < 5:
        return
    stage.sink.watcher.disturbed.add(table)
    foreign.roll_back(stage.sink, table, stage.chance.choice([1, 2]))
    stage.decisions["rolled_back"] = {table: "replay"}


FAULTS: dict[str, Callable[[Stage], None]] = {
    "aborted transaction": abort,
    "hanging transaction": hang,
    "tombstones": tombstones,
    "poison": poison,
    "records without a route": unroutable,
    "foreign append": on_a_table(foreign.append),
    "foreign schema change": on_a_table(foreign.add_column),
    "foreign compaction": on_a_table(foreign.rewrite),
    "foreign partition change": on_a_table(foreign.change_spec),
    "broker killed": kill_broker,
    "broker held": hold_broker,
    "group deleted": delete_group,
    "position rewound": rewind,
    "position overwritten": overwrite,
    "control topic deleted": delete_control_topic,
    "partition added": add_partition,
    "records removed before they were read": remove_records,
    "topic re-created": re_create_topic,
    "table rolled back": roll_back,
}
