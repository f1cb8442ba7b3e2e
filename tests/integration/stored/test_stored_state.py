"""What an earlier version left goes on: tables, control topics, positions, a backlog and open plans.

The archive was made once, by the version before the present rooms; the program that made it is in it (``make_state.py``).
It holds a broker's data, a SQLite catalog with its tables, and each connector's keys and open plan. The tables' metadata
names the folder that they were made in, so they are unpacked there.
"""

from __future__ import annotations

import fcntl
import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from floe.config import parse_connector
from floe.model.plan import Plan
from floe.tables.exceptions import DeadLettersLeft
from stack.services.broker import Broker
from stack.settings import free_port
from tests.support.runs.pipeline import Pipeline
from tests.support.runs.replays import replay

ARCHIVE = Path(__file__).with_name("state_before_rooms.tar.xz")
FOLDER = Path("/tmp/floe-stored-state")

KEPT_FOR_GOOD = {"offsets.retention.minutes": "100000000", "log.retention.ms": "-1"}
INTERNAL_TOPICS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, dict[str, Any]]]:
    """The broker on its stored data, and by connector its keys, its open plan and the records produced."""
    with FOLDER.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(FOLDER, ignore_errors=True)
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(FOLDER.parent, filter="data")
        broker = Broker(FOLDER / "broker", free_port(), properties={**KEPT_FOR_GOOD, **INTERNAL_TOPICS})
        broker.start()
        try:
            yield broker, json.loads((FOLDER / "stored.json").read_text())
        finally:
            broker.stop()
            shutil.rmtree(FOLDER)


def opened(stored: tuple[Broker, dict[str, Any]], name: str) -> tuple[Pipeline, Plan | None, int]:
    """Return a connector as it was left, its open plan and the number of ids that were produced to it."""
    broker, connectors = stored
    left = connectors[name]
    plan = None if left["plan"] is None else Plan.from_json(left["plan"])
    return Pipeline(broker.bootstrap, name, parse_connector(left["keys"])), plan, left["produced"]


def produce_and_run(pizzas: Pipeline, start: int, **more: Any) -> None:
    """Produce ten more ids, and run until nothing is left to read."""
    pizzas.produce([{"id": i, "text": f"t{i}", "at": {"x": i / 2}, **more} for i in range(start, start + 10)])
    for _ in range(10):
        if not pizzas.run().slices:
            return
    pytest.fail("the connector does not come to an end")


def test_backlog_of_a_rolled_back_table_is_read(stored: tuple[Broker, dict[str, Any]]) -> None:
    pizzas, _, produced = opened(stored, "behind")
    assert pizzas.backlogs()
    pizzas.run(rolled_back={"behind.bad": "replay"})
    assert pizzas.backlogs() == {}
    produce_and_run(pizzas, produced)
    for table in ("behind.good", "behind.bad"):
        assert pizzas.column("id", table) == list(range(produced + 10))


def test_open_dead_letters_are_redriven(stored: tuple[Broker, dict[str, Any]]) -> None:
    pizzas, _, produced = opened(stored, "letters")
    pizzas.produce([b"{broken"])
    produce_and_run(pizzas, produced)
    stages = pizzas.column("stage", "letters.dead")
    assert stages == ["convert", "decode", "value_converter"], "old rows keep the words of their version"
    assert pizzas.column("id", "letters.t") == list(range(produced + 10))
    with pytest.raises(DeadLettersLeft, match="3"):
        replay(pizzas, dead_letters=True)
    assert pizzas.column("id", "letters.t") == list(range(produced + 10))


@pytest.mark.parametrize(("name", "is_announced"), [("announced", True), ("planned", False)])
def test_open_plan_is_committed_once(stored: tuple[Broker, dict[str, Any]], name: str, is_announced: bool) -> None:
    pizzas, plan, produced = opened(stored, name)
    assert plan is not None
    if not is_announced:
        pizzas.write(plan)
    pizzas.commit(plan)
    pizzas.commit(plan)
    produce_and_run(pizzas, produced)
    assert pizzas.column("id", f"{name}.t") == list(range(produced + 10))


def test_routed_tables_go_on(stored: tuple[Broker, dict[str, Any]]) -> None:
    pizzas, plan, produced = opened(stored, "routed")
    assert plan is not None
    pizzas.commit(plan)
    produce_and_run(pizzas, produced, to="routed.t1")
    both = pizzas.column("id", "routed.t0") + pizzas.column("id", "routed.t1")
    assert sorted(both) == list(range(produced + 10))


def test_table_with_expired_snapshots_goes_on(stored: tuple[Broker, dict[str, Any]]) -> None:
    pizzas, _, produced = opened(stored, "many")
    produce_and_run(pizzas, produced)
    assert pizzas.column("id", "many.t") == list(range(produced + 10))
    assert len(pizzas.table("many.t").snapshots()) <= 4
