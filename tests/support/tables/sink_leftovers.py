"""What a Kafka Connect sink left for one table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow

from floe.control.data_files import SpecFiles
from floe.control.wire.events import DataWritten, TableReference
from floe.model.holding import LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import read_properties
from floe.model.plan import Plan
from floe.takeover.pending_files import PendingFiles
from floe.takeover.seed_table import InitialLedger, TableTakeover, check_table, commit_takeover
from tests.support.tables.lake import CLUSTER, GROUP, LEDGER, OFFSETS, TABLE, TOPIC, TOPIC_ID, Lake, expected
from tests.support.tables.slices import write_rows

LOG = LogId(TOPIC, TOPIC_ID, 0)


@dataclass
class Sink:
    """What a sink left for one table."""

    lake: Lake

    def seed(self, end: int = 100, branch: str = "main") -> InitialLedger:
        plan = Plan("takeover-1", "pizzas", GROUP, CLUSTER, {}, "control-iceberg", {0: 50}, (), ())
        return InitialLedger(plan, branch, {LOG: (end, "metadata")}, frozenset([LOG]), (GROUP,), {0: 50})

    def written(self, files: SpecFiles, at: int = 10, table_uuid: UUID | None = None) -> PendingFiles:
        reference = TableReference("iceberg", ("rpc",), "pizzas", table_uuid or self.lake.load().metadata.table_uuid)
        return PendingFiles(0, at, DataWritten(UUID(int=1), reference, files.files, (), files.partition_type))

    def write(self, start: int, end: int, at: int = 10, spec_id: int | None = None) -> PendingFiles:
        return self.written(write_rows(self.lake.load(), expected((start, end)), spec_id), at)

    def land(self, *written: PendingFiles, catalog: Any = None, timeout_s: float = 20, **seed: Any) -> TableTakeover:
        return commit_takeover(self.lake.opened(catalog), TABLE, self.seed(**seed), written, timeout_s)

    def check_table(self, *written: PendingFiles) -> None:
        check_table(self.lake.load(), self.seed(), written)

    def ledger(self) -> Ledger:
        found = read_properties(LEDGER, self.lake.load().properties)
        assert found is not None
        return found

    def held(self) -> list[tuple[int, int]]:
        return list(self.ledger().holdings[LOG].held["java"])


def as_the_sink(lake: Lake) -> None:
    """Append a row as the sink's coordinator does."""
    table = lake.load()
    rows = [{"kafka_partition": 0, "kafka_offset": 0, "sauce": "sink"}]
    table.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())), {OFFSETS: '{"0":40}'})
