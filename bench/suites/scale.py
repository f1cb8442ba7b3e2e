"""What many partitions and many tables cost: a plan over 5,000 partitions, a commit of 1,000 tables.

The plan is made by ``floe.planning.live_plan.draft_plan`` with a fake cluster, as a topic of 5,000 partitions is
expensive: floe's own work is measured, the admin calls are not. Tables, files and catalog are real (SQLite); the commits
are made by ``floe.commit.slice_commit.SliceCommitter``.
"""

import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from bench.lake import CLUSTER, TOPIC, GrowthLake, announced, plan_of
from bench.measurement import Measurement
from bench.size import Size
from floe.catalogs.client import CatalogClient
from floe.commit.slice_commit import SliceCommitter
from floe.config import Connector
from floe.kafka.admin import Readable
from floe.kafka.settings import KafkaSettings
from floe.model.decisions import Decisions
from floe.model.offsets import Intervals, PartitionLog, TopicPartition
from floe.model.plan import Plan, SliceEnd, positions_after
from floe.model.positions import Position
from floe.planning import live_plan
from floe.planning.slicing import cut
from stack.progress import step

PARTITIONS, SECONDS = 5_000, 5.0
FEW, MANY = 10, 1_000
PER_PARTITION = 1_000
NO_SETTINGS: KafkaSettings = mock.sentinel.settings


def measure(folder: Path, size: Size) -> Iterator[Measurement]:
    """Plan over many partitions; commit to few tables and to many."""
    partitions, turns = size.of((PARTITIONS, 9), (PARTITIONS, 3), (50, 1))
    with step(f"a plan of {partitions} partitions"):
        found = plan_for(GrowthLake.open(folder / "plan"), partitions, turns)
    yield Measurement(f"plan for {partitions} partitions", "floe", 0, 0, found["value"], 0.0, more=found)
    few, many, turns = size.of((FEW, MANY, 9), (FEW, 300, 5), (2, 6, 1))
    with step(f"commits of {few} tables and of {many}"):
        found = tables(folder, few, many, turns)
    scenario = f"commit of {many} tables vs {few}, per table"
    yield Measurement(scenario, "floe, SQL catalog", 0, 0, found["ms_per_table"][many] * many / 1000, 0.0, more=found)


class Cluster:
    """A cluster with one topic: its partitions have 1,000 new records each, its group is where it left off."""

    def __init__(self, partitions: int) -> None:
        self._logs = tuple(PartitionLog(TopicPartition(TOPIC, p), "T1", 0, PER_PARTITION) for p in range(partitions))
        self.found: dict[TopicPartition, Position] = {}

    def cluster_id(self) -> str:
        return CLUSTER

    def ensure_control_topic(self, name: str) -> None:
        """It is there."""

    def topics(self, names: Iterable[str]) -> dict[str, None]:
        """There is none."""
        return {}

    def readable(self, names: Iterable[str]) -> Readable:
        """All of them; their descriptions are for ``logs``, which makes up what it returns."""
        return Readable({}, set())

    def check_no_members(self, group_id: str) -> None:
        """It has none."""

    def logs(self, names: Iterable[str], described: Mapping[str, object] | None = None) -> tuple[PartitionLog, ...]:
        return self._logs

    def offsets_at(self, tps: Iterable[TopicPartition], moment: int) -> dict[TopicPartition, int | None]:
        """No decision asks for a time."""
        raise AssertionError(moment)

    def positions(
        self, group_id: str, tps: Sequence[TopicPartition] | None = None
    ) -> Mapping[TopicPartition, Position]:
        return self.found if tps is None else {tp: self.found[tp] for tp in tps if tp in self.found}


def plan_for(lake: GrowthLake, partitions: int, turns: int) -> dict[str, Any]:
    """Measure the steps of planning a run over many partitions of one topic, and of moving their positions."""
    lake.create("growth.plan")
    connector = lake.connector("growth.plan")
    cluster = Cluster(partitions)

    def draft(limit: int | None, decisions: Decisions | None = None) -> Plan:
        clusters = SimpleNamespace(of_source=lambda _: cluster, of_control=lambda _: cluster)
        with mock.patch.multiple(live_plan, Cluster=clusters, control_ends=lambda *_: {0: 3}):
            return live_plan.draft_plan(connector, NO_SETTINGS, limit, decisions=decisions)

    first = draft(None)  # a new group: its partitions begin at their log start
    cluster.found = {p.tp: p for p in first.positions}
    plan = draft(None)
    text = json.dumps(plan.to_json())
    ends = [SliceEnd(plan.slices[0], {}, has_snapshot=True)]
    (slice_,) = plan.slices
    whole = {r: Intervals(((r.start, r.end),)) for r in slice_.ranges}
    steps: dict[str, Callable[[], object]] = {
        "draft": lambda: draft(None),
        "draft_limited": lambda: draft(partitions * PER_PARTITION // 3),
        "to_json": lambda: json.dumps(plan.to_json()),
        "from_json": lambda: Plan.from_json(json.loads(text)),
        "cut_a_replay": lambda: cut(slice_.ranges, [whole], partitions * PER_PARTITION // 100),
        "positions_after": lambda: positions_after(plan, plan.positions, ends),
    }
    seconds = {name: round(_median(one, turns), 3) for name, one in steps.items()}
    if Plan.from_json(json.loads(text)) != plan:
        raise AssertionError(partitions)
    run = ("draft", "cut_a_replay", "to_json", "from_json")
    return {
        "partitions": partitions,
        "seconds": seconds,
        "characters": len(text),
        "value": sum(seconds[name] for name in run),
        "most": SECONDS,
        "unit": "s",
    }


def tables(folder: Path, few: int, many: int, turns: int) -> dict[str, Any]:
    """Compare the commit of one slice to many tables with that to few, in ms per table."""
    lakes = {n: GrowthLake.open(folder / f"tables_{n}") for n in (few, many)}
    names = {n: [f"growth.t{i}" for i in range(n)] for n in lakes}
    for n, lake in lakes.items():
        for name in names[n]:
            lake.create(name)
    times: dict[int, list[float]] = {n: [] for n in lakes}
    for turn in range(turns):
        times[few].append(_commit_slice(lakes[few], names[few]) / few)
        if turn % 4 == 0:
            times[many].append(_commit_slice(lakes[many], names[many]) / many)
    per_table = {n: round(statistics.median(found) * 1000, 2) for n, found in times.items()}
    return {
        "ms_per_table": per_table,
        "spread_ms": {n: [round(min(f) * 1000, 2), round(max(f) * 1000, 2)] for n, f in times.items()},
        "value": per_table[many] / per_table[few],
        "most": 1.2,
        "unit": "×",
    }


def _commit_slice(lake: GrowthLake, names: Sequence[str]) -> float:
    """Commit the next run to all tables and return the seconds that took."""
    connector: Connector = lake.connector(*names)
    writing = CatalogClient.of(connector)
    all_table_files = [lake.write(writing.require(name))[1] for name in names]
    writing.catalog.close()
    plan = plan_of(lake.runs[names[0]], *names)
    committer = SliceCommitter(plan, connector)
    begun = time.perf_counter()
    outcome = committer.commit(plan.slices[0], announced(plan, *all_table_files))
    took = time.perf_counter() - begun
    if not outcome.is_done or len(outcome.committed) != len(names) or any(one.already for one in outcome.committed):
        raise AssertionError(outcome.errors)
    return took


def _median(step: Callable[[], object], turns: int) -> float:
    times = []
    for _ in range(turns):
        begun = time.perf_counter()
        step()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)
