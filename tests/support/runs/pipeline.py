"""A connector of its own per test, driven by plain Python: the same plan, write and commit that the DAG's tasks call."""

from __future__ import annotations

import json
import pickle
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import confluent_kafka as ck
from pyiceberg.table import Table

from floe.catalogs.client import CatalogClient
from floe.commit.run_commit import CommitReport, Committer
from floe.config import Connector, parse_connector
from floe.control.announcement import Announcement
from floe.exceptions import FloeError
from floe.kafka.settings import KafkaSettings
from floe.model.decisions import Decisions
from floe.model.offsets import TopicPartition
from floe.model.plan import Plan, Slice
from floe.model.plan_seal import DeploymentKey, PlanKey
from floe.model.positions import Position
from floe.planning.live_plan import draft_plan, open_plan
from floe_job.contract.result import TaskResult
from floe_job.contract.task import Task
from floe_job.driver.slice_job import RunTasks, SliceJob, write_slice
from floe_job.task.read_task import SentRows, run_task, send_tasks
from floe_job.task.write_task import PartitionFiles
from tests.support.connectors import connector_keys
from tests.support.keys import KEY


def in_process(tasks: Sequence[Task]) -> list[TaskResult]:
    """Run a job's tasks one after the other in this process, and between them do what Spark's shuffle does."""
    if not any(task.writers for task in tasks):
        return [run_task(task) for task in tasks]
    files = PartitionFiles.of(tasks)
    sent: dict[int, list[SentRows]] = {}
    for writer, item in send_tasks(tasks):
        sent.setdefault(writer, []).append(pickle.loads(pickle.dumps(item)))  # noqa: S301
    return [result for items in sent.values() for result in files.run(items)]


@dataclass
class Pipeline:
    """One connector on one topic."""

    bootstrap: str
    topic: str
    connector: Connector
    deployment_key: DeploymentKey | None = KEY
    settings: KafkaSettings = field(init=False)

    def __post_init__(self) -> None:
        self.settings = KafkaSettings.of(self.connector, {"bootstrap.servers": self.bootstrap})

    @classmethod
    def make(cls, bootstrap: str, topic: str, folder: Path, **more: Any) -> Pipeline:
        """Make a connector with a name of its own."""
        name = more.pop("name", f"c-{uuid.uuid4().hex[:8]}")
        return cls(bootstrap, topic, parse_connector(connector_keys(name, topic, folder, **more)))

    def changed(self, **more: Any) -> Pipeline:
        """Return the same connector with other keys."""
        keys = {**self.connector.properties, **{k.replace("__", "-"): v for k, v in more.items()}}
        return Pipeline(
            self.bootstrap,
            self.topic,
            parse_connector({key: value for key, value in keys.items() if value is not None}),
        )

    def key(self, plan: Plan) -> PlanKey | None:
        """Return the key that a plan's announcements are signed by."""
        return None if self.deployment_key is None else self.deployment_key.plan_key(plan.plan_id)

    # -- the run ------------------------------------------------------------------------------------------------------

    def plan(self, max_records: int | None = None, **decisions: Any) -> Plan:
        """Make and open a plan, through its JSON as the task state store keeps it."""
        decided = Decisions.of(decisions)
        drafted = draft_plan(
            self.connector, self.settings, max_records, decisions=decided, deployment=self.deployment_key
        )
        plan = Plan.from_json(json.loads(json.dumps(drafted.to_json())))
        open_plan(plan, self.connector, self.settings, self.key(plan))
        return plan

    def write(self, plan: Plan, run_tasks: RunTasks = in_process) -> list[Announcement]:
        """Write and announce every slice."""
        return [self.write_slice(plan, s, run_tasks) for s in plan.slices]

    def write_slice(self, plan: Plan, slice_: Slice, run_tasks: RunTasks = in_process) -> Announcement:
        """Write and announce one slice."""
        return write_slice(SliceJob(plan, slice_, self.connector, self.settings, self.key(plan)), run_tasks)

    def committer(self, plan: Plan) -> Committer:
        """Return the committer of a plan."""
        return Committer.open(plan, self.connector, self.settings, self.key(plan))

    def commit(self, plan: Plan) -> CommitReport:
        """Commit a plan whose slices were all written."""
        return self.committer(plan).commit([plan.slice_id(s) for s in plan.slices])

    def run(self, max_records: int | None = None, run_tasks: RunTasks = in_process, **decisions: Any) -> Plan:
        """Plan, write, commit."""
        plan = self.plan(max_records, **decisions)
        self.write(plan, run_tasks)
        self.commit(plan)
        return plan

    # -- what is there ------------------------------------------------------------------------------------------------

    def produce(
        self,
        values: Iterable[Any],
        partition: int | None = None,
        record: Mapping[str, Any] = MappingProxyType({}),
        **conf: Any,
    ) -> None:
        """Produce JSON values; bytes and None as they are. ``record``: key and headers of all of them.

        Without a key they go to the partitions in turn: which ones the client's own partitioner takes is chance.
        """
        producer = ck.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 10, **conf})
        in_turn = 0
        if partition is None and "key" not in record:
            in_turn = len(producer.list_topics(self.topic, 30).topics[self.topic].partitions)
        for i, value in enumerate(values):
            raw = value if isinstance(value, bytes | None) else json.dumps(value).encode()
            chosen = i % in_turn if in_turn else partition
            target = {} if chosen is None else {"partition": chosen}
            producer.produce(self.topic, value=raw, **target, **record)
            if i % 1000 == 0:
                producer.poll(0)
        assert producer.flush(30) == 0

    def abort(self, values: Iterable[Any], partition: int) -> None:
        """Produce values in a transaction that is aborted: they are in the log and never visible."""
        producer = ck.Producer({"bootstrap.servers": self.bootstrap, "transactional.id": f"abort-{uuid.uuid4().hex}"})
        producer.init_transactions(30)
        producer.begin_transaction()
        for value in values:
            producer.produce(self.topic, value=json.dumps(value).encode(), partition=partition)
        producer.flush(30)
        producer.abort_transaction(30)

    def positions(self) -> dict[TopicPartition, Position]:
        """Return the group's stable positions."""
        from floe.kafka.admin import Cluster

        cluster, group_id = Cluster.of_control(self.settings), self.connector.group_id
        topics = cluster.topics(self.connector.topics).items()
        # the listing of all leaves out what is in its first transaction still
        known = [TopicPartition(name, partition) for name, facts in topics for partition in facts.partitions]
        return cluster.positions(group_id) | (cluster.positions(group_id, known) if known else {})

    def position(self) -> dict[int, int]:
        """Return the offsets of the group's stable positions, by partition."""
        return {tp.partition: p.offset for tp, p in self.positions().items()}

    def table(self, name: str = "db.t") -> Table:
        """Load a table."""
        return CatalogClient.of(self.connector).require(name)

    def column(self, name: str, table: str = "db.t") -> list[Any]:
        """Return one column of all rows, sorted."""
        values: list[Any] = self.table(table).scan(selected_fields=(name,)).to_arrow().column(name).to_pylist()
        return sorted(values)

    def backlogs(self) -> dict[int, dict[str, int]]:
        """Return where each debt begins, by partition and table."""
        found = self.positions()
        return {
            tp.partition: {t: backlog.start for t, backlog in p.backlogs.items()}
            for tp, p in found.items()
            if p.backlogs
        }

    def try_write(self, plan: Plan) -> list[FloeError]:
        """Write every slice that can be written, as the job does, and return the errors of the others."""
        errors: list[FloeError] = []
        for slice_ in plan.slices:
            try:
                self.write_slice(plan, slice_)
            except FloeError as error:
                errors.append(error)
        return errors


MakePipeline = Callable[..., Pipeline]
