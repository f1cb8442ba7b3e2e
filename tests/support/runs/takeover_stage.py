"""A sink that was stopped in the middle of a commit, for takeovers; the sink is a double."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from floe.kafka.admin import Cluster
from floe.model.ledger import Ledger
from floe.model.ledger_codec import property_name, read_properties
from floe.model.positions import PositionMetadata
from floe.takeover.exceptions import TakeoverRefused
from floe.takeover.take_over import TakeoverReport, take_over
from tests.support.kafka.open_transactions import wait_for_markers
from tests.support.runs.pipeline import Pipeline
from tests.support.runs.sink_double import SinkDouble

PIZZAS = "db.pizzas"
PASTA = "db.pasta"
SALADS = "db.salads"
TABLES = f"{PIZZAS},{PASTA},{SALADS}"


class Stage:
    """A connector of three tables whose sink was stopped in the middle of a commit.

    It committed ids 0 to 99 of both tables that exist; another 50 of each are announced, and the position is 150.
    """

    def __init__(self, pizzas: Pipeline, admin: AdminClient) -> None:
        self.pipeline = pizzas
        self.admin = admin
        self.connector, self.settings = pizzas.connector, pizzas.settings
        self.sink = SinkDouble(pizzas.bootstrap, pizzas.topic, pizzas.connector, pizzas.connector.sink_group_id)

    def play(self) -> None:
        self.produce(0, 150)
        for name in (PIZZAS, PASTA):
            self.sink.create(name)
            self.sink.announce(self.written(name, 0, 100), positions={0: 100})
        for name in (PIZZAS, PASTA):
            self.sink.commit(name, range(100), self.control_ends())
        self.sink.set_positions(self.control_ends(), f"{self.sink.group}-coord", self.connector.control_topic)
        self.sink.announce(self.written(PIZZAS, 100, 130))
        self.sink.announce(self.written(PASTA, 100, 150), self.written(PIZZAS, 130, 150), positions={0: 150})

    def written(self, name: str, start: int, end: int, **changes: Any) -> Any:
        return self.sink.written(name, self.sink.write(name, range(start, end)), **changes)

    def produce(self, start: int, end: int) -> None:
        self.pipeline.produce({"id": i} for i in range(start, end))

    def take_over(self) -> TakeoverReport:
        return take_over(self.connector, self.settings)

    def control_ends(self) -> dict[int, int]:
        return wait_for_markers(Cluster.of_control(self.settings), self.connector.control_topic)

    def rows(self, name: str, branch: str | None = None) -> list[int]:
        table = self.sink.load(name)
        scan = table.scan().use_ref(branch) if branch else table.scan()
        return sorted(scan.to_arrow().column("id").to_pylist())

    def ledger(self, name: str) -> Ledger | None:
        branch = self.connector.settings.default.branch or "main"
        return read_properties(property_name(self.connector.group_id, branch), self.sink.load(name).properties)

    def held(self, name: str) -> dict[str, list[tuple[int, int]]]:
        ledger = self.ledger(name)
        assert ledger is not None
        (holding,) = ledger.holdings.values()
        return {route if route == "java" else "floe": list(spans) for route, spans in holding.held.items()}

    def message(self, name: str) -> dict[int, int]:
        """Return the control offsets in the summary of a table's last snapshot."""
        summary = self.sink.load(name).snapshots()[-1].summary
        assert summary is not None
        text = summary.additional_properties[
            f"kafka.connect.offsets.{self.connector.control_topic}.{self.connector.group_id}"
        ]
        return {int(partition): offset for partition, offset in json.loads(text).items()}

    def state(self) -> dict[str, Any]:
        """Return all that a refusal must leave as it was."""
        tables = {name: self.sink.tables.load(name) for name in (PIZZAS, PASTA, SALADS)}
        return {
            "tables": {name: table.metadata_location if table else None for name, table in tables.items()},
            "positions": self.pipeline.positions(),
            "control": self.control_ends(),
        }

    def refused(self, match: str, error: type[Exception] = TakeoverRefused) -> None:
        before = self.state()
        with pytest.raises(error, match=match):
            self.take_over()
        assert self.state() == before

    def assert_taken(self, end: int = 150) -> None:
        """Check that floe has the connector, and every record is there once."""
        for name in (PIZZAS, PASTA):
            assert self.rows(name) == list(range(end))
            assert self.held(name) == {"java": [(0, end)]}
        (position,) = self.pipeline.positions().values()
        facts = PositionMetadata.decode(position.metadata)
        assert (position.offset, facts and facts.since) == (end, end)

    def assert_goes_on(self, start: int = 150) -> None:
        """Let floe read what is new."""
        self.produce(start, start + 20)
        self.pipeline.run()
        for name in (PIZZAS, PASTA):
            assert self.rows(name) == list(range(start + 20))
        assert self.rows(SALADS) == list(range(start, start + 20))
