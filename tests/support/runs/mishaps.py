"""What befalls a connector's tables, topics and positions, done as others would do it; and a run that is cleared."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import confluent_kafka as ck
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from floe.catalogs.client import CatalogClient
from floe.commit.run_commit import Committer
from floe.exceptions import FloeError
from floe.kafka.admin import Cluster
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties, write_properties
from floe.model.offsets import Intervals
from floe.model.plan import Plan
from floe.planning.live_plan import open_plan
from floe.tables.exceptions import TablesBehind
from stack.progress import wait_until
from tests.support.runs.pipeline import MakePipeline, Pipeline
from tests.support.runs.records import ids

GOOD, BAD = "db.good", "db.bad"

MAX_RUNS = 10
"""Runs until one is green; more means that the connector does not come to an end."""


def two_tables(pipeline: MakePipeline, partitions: int = 1, **more: object) -> Pipeline:
    return pipeline(partitions, **{"iceberg.tables": f"{GOOD}, {BAD}", **more})


def with_another_topic(pizzas: Pipeline, topic: str) -> tuple[Pipeline, Pipeline]:
    """Return the connector reading another topic too, twice: to produce to the first topic, and to the other."""
    both = pizzas.changed(topics=f"{pizzas.topic}, {topic}")
    return both, Pipeline(pizzas.bootstrap, topic, both.connector)


def both_whole(pizzas: Pipeline, end: int) -> bool:
    """Say whether both tables have the ids below ``end``, each once, and no debt is left."""
    return pizzas.column("id", GOOD) == pizzas.column("id", BAD) == list(range(end)) and not pizzas.backlogs()


# -- runs -------------------------------------------------------------------------------------------------------------


def run_each(pizzas: Pipeline, *starts: int, length: int = 10) -> None:
    """Produce and run once for each start: a snapshot each."""
    for start in starts:
        pizzas.produce(ids(start, start + length))
        pizzas.run()


def run_behind(pizzas: Pipeline, **decisions: Any) -> TablesBehind:
    """Run as the DAG does: what can be written is, and the commit names the tables that are behind."""
    plan = pizzas.plan(**decisions)
    pizzas.try_write(plan)
    with pytest.raises(TablesBehind) as message:
        pizzas.committer(plan).commit([])
    return message.value


def run_to_the_end(pizzas: Pipeline) -> None:
    """Run until a run is green: nothing is left to read or owed then."""
    for _ in range(MAX_RUNS):
        try:
            pizzas.run()
        except TablesBehind:
            continue
        return
    raise AssertionError(pizzas.backlogs())


def clear(pizzas: Pipeline, plan: Plan) -> list[FloeError]:
    """Run all tasks of an old run again, as when it is cleared, and return what they raised."""
    errors: list[FloeError] = []
    try:
        open_plan(plan, pizzas.connector, pizzas.settings, pizzas.key(plan))
        committer = pizzas.committer(plan)
        announced = committer.announcements([])
        left = [s for s in committer.open_slices() if plan.slice_id(s) not in announced]
        errors += pizzas.try_write(replace(plan, slices=tuple(left)))
        pizzas.committer(plan).commit([])
    except FloeError as error:
        errors.append(error)
    return errors


def commit_and_die(pizzas: Pipeline, plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit, and be killed between the tables and the positions."""

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Committer, "_finish", die)
        pizzas.commit(plan)


# -- tables -----------------------------------------------------------------------------------------------------------


def replace_table(pizzas: Pipeline, name: str) -> None:
    """Drop a table and create another of its name."""
    tables = CatalogClient.of(pizzas.connector)
    tables.catalog.drop_table(name)
    tables.create(name, Schema(NestedField(1, "id", LongType(), required=False)))


def owe(pizzas: Pipeline, start: int, end: int) -> None:
    """Produce, and let BAD owe all of it: it is replaced before its commit."""
    pizzas.produce(ids(start, end))
    plan = pizzas.plan()
    pizzas.write(plan)
    replace_table(pizzas, BAD)
    with pytest.raises(TablesBehind):
        pizzas.commit(plan)


def roll_back(pizzas: Pipeline, to: int, name: str = BAD) -> None:
    with CatalogClient.of(pizzas.connector).require(name).manage_snapshots() as manage:
        manage.set_current_snapshot(snapshot_id=to)


def snapshot_ids(pizzas: Pipeline, name: str = BAD) -> list[int]:
    return [s.snapshot_id for s in pizzas.table(name).snapshots()]


def expire_as_java(pizzas: Pipeline, folder: Path, name: str, gone: set[int]) -> None:
    """Expire snapshots as Iceberg's Java does: those that are left keep the ids of their parents."""
    at = Path(pizzas.table(name).metadata_location.removeprefix("file://"))
    metadata = json.loads(at.read_text())
    for part in ("snapshots", "snapshot-log"):
        metadata[part] = [s for s in metadata[part] if s["snapshot-id"] not in gone]
    expired = at.with_name(f"99999-{uuid.uuid4()}.metadata.json")
    expired.write_text(json.dumps(metadata))
    with sqlite3.connect(folder / "catalog.db") as catalog:
        catalog.execute(
            "update iceberg_tables set metadata_location=? where table_name=?",
            (f"file://{expired}", name.split(".")[1]),
        )
    catalog.close()


def branch_column(pizzas: Pipeline, branch: str, table: str) -> list[int]:
    """Return the ids on a branch, sorted."""
    rows = pizzas.table(table).scan(selected_fields=("id",)).use_ref(branch).to_arrow()
    return sorted(rows.column("id").to_pylist())


# -- ledgers ----------------------------------------------------------------------------------------------------------


def ledger_name(pizzas: Pipeline) -> str:
    return property_name(pizzas.connector.group_id, "main")


def ledger(pizzas: Pipeline, table: str = BAD) -> Ledger:
    found = read_properties(ledger_name(pizzas), pizzas.table(table).metadata.properties)
    assert found is not None
    return found


def held(pizzas: Pipeline, table: str = BAD) -> list[list[tuple[int, int]]]:
    """Return the offsets that a table's ledger claims, for each log and route."""
    return [list(spans) for holding in ledger(pizzas, table).holdings.values() for spans in holding.held.values()]


def break_ledger(pizzas: Pipeline, table: str = BAD) -> Callable[[], None]:
    """Make a ledger unreadable, and return what mends it."""
    was = pizzas.table(table).metadata.properties[ledger_name(pizzas)]
    set_ledger(pizzas, table, "broken")
    return partial(set_ledger, pizzas, table, was)


def set_ledger(pizzas: Pipeline, table: str, value: str) -> None:
    with pizzas.table(table).transaction() as change:
        change.set_properties({ledger_name(pizzas): value})


def lose_end_of_log(pizzas: Pipeline, ahead: int, partition: int = 0, table: str = "db.t") -> None:
    """Let table and position be at ``ahead``, past the end of the log: as after an unclean election."""
    now = ledger(pizzas, table)
    ((log_id, holding),) = ((log_id, h) for log_id, h in now.holdings.items() if log_id.partition == partition)
    assert holding.position is not None
    spans = {route: Intervals(((0, ahead),)) for route in holding.held}
    further = replace(holding, held=spans, live_end=ahead, position=(ahead - 10, holding.position[1]))
    (value,) = write_properties(ledger_name(pizzas), now.holding({**now.holdings, log_id: further})).values()
    set_ledger(pizzas, table, value)
    positions = pizzas.positions()
    (metadata,) = (p.metadata for tp, p in positions.items() if tp.partition == partition)
    commit_as(pizzas, ahead, metadata, partition)


# -- Kafka ------------------------------------------------------------------------------------------------------------


def commit_as(pizzas: Pipeline, offset: int, metadata: str | None, partition: int = 0) -> None:
    """Commit an offset of the group as another tool would."""
    consumer = ck.Consumer({"bootstrap.servers": pizzas.bootstrap, "group.id": pizzas.connector.group_id})
    at = ck.TopicPartition(pizzas.topic, partition, offset, metadata=metadata or "")
    consumer.commit(offsets=[at], asynchronous=False)
    consumer.close()


def delete_group(pizzas: Pipeline, admin: AdminClient) -> None:
    admin.delete_consumer_groups([pizzas.connector.group_id])[pizzas.connector.group_id].result(30)


def recreate(pizzas: Pipeline, admin: AdminClient, partitions: int = 1) -> None:
    """Delete the topic and create another of its name."""
    (old,) = {log.topic_id for log in Cluster.of_source(pizzas.settings).logs([pizzas.topic])}
    admin.delete_topics([pizzas.topic])[pizzas.topic].result(30)
    assert wait_until(lambda: _is_created(pizzas.topic, admin, partitions), 30)
    assert wait_until(lambda: _is_another(pizzas, old), 30)


def _is_created(topic: str, admin: AdminClient, partitions: int) -> bool:
    try:
        admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    except ck.KafkaException:
        return False
    return True


def _is_another(pizzas: Pipeline, old: str) -> bool:
    try:
        logs = Cluster.of_source(pizzas.settings).logs([pizzas.topic])
    except FloeError:
        return False
    return old not in {log.topic_id for log in logs}
