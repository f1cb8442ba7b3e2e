"""A lake to be measured: real catalogs and files, and runs whose plan and announcement are made by hand.

Commits use ``floe.commit.table_commit.commit_table``, each time from a newly opened catalog, as in a task of its own.
"""

import json
import os
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from floe.catalogs.client import CatalogClient
from floe.commit.table_commit import commit_table
from floe.config import Connector, parse_connector
from floe.control.announcement import Announcement, TableAnnouncement, TableFiles, next_offset
from floe.control.data_files import SpecFiles, from_pyiceberg, partition_type_of
from floe.control.table_work import TableWork
from floe.control.wire.events import DataFile, TableReference
from floe.model.accounting import RangeCounts, TableCounts
from floe.model.offsets import OffsetRange
from floe.model.plan import Plan, Slice, SliceKind
from floe.model.positions import Position, PositionMetadata
from floe.model.route_hash import route_hash
from floe.parquet.table_writer import TableWriter
from floe.tables.lake import Lake
from floe.tables.table_state import ledger_of

GROUP, TOPIC, CLUSTER = "connect-growth", "growth", "C1"
PARTITIONS, ROWS = 6, 50
SCHEMA = Schema(
    NestedField(1, "kafka_partition", IntegerType(), required=False),
    NestedField(2, "kafka_offset", LongType(), required=False),
    NestedField(3, "text", StringType(), required=False),
)


@dataclass
class GrowthLake:
    """A SQLite catalog and a warehouse in ``folder``; every run reads ROWS records of each of PARTITIONS partitions."""

    folder: Path
    runs: dict[str, int] = field(default_factory=dict)
    _written: dict[str, DataFile] = field(default_factory=dict)

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Make the folders."""
        (folder / "warehouse").mkdir(parents=True, exist_ok=True)
        return cls(folder)

    def connector(self, *tables: str, props: Mapping[str, str] | None = None) -> Connector:
        keys: dict[str, object] = {
            "name": "growth",
            "topics": TOPIC,
            "iceberg.tables": ",".join(tables),
            "iceberg.catalog.type": "sql",
            "iceberg.catalog.uri": f"sqlite:///{self.folder}/catalog.db",
            "iceberg.catalog.warehouse": f"file://{self.folder}/warehouse",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
        }
        created = {f"iceberg.tables.auto-create-props.{name}": value for name, value in (props or {}).items()}
        return parse_connector({**keys, **created})

    def create(self, name: str, props: Mapping[str, str] | None = None) -> None:
        """Create a table as floe does; ``props`` override floe's default properties."""
        tables = CatalogClient.of(self.connector(name, props=props))
        tables.create(name, SCHEMA)
        tables.catalog.close()

    def write(self, table: Table) -> tuple[DataFile, TableFiles, Plan]:
        """Write the file of a table's next run: a link to one that was written once."""
        name = ".".join(table.name())
        run = self.runs[name] = self.runs.get(name, 0) + 1
        plan = plan_of(run, name)
        file = self._linked(table, name)
        ledger = ledger_of(table, "main", plan)
        routes = {TOPIC: route_hash(TOPIC, "main")}
        *namespace, simple = table.name()
        spec = table.spec()
        table_files = TableFiles(
            reference=TableReference("iceberg", tuple(namespace), simple, table.metadata.table_uuid),
            branch="main",
            schema_id=table.schema().schema_id,
            new_ranges=tuple((r, ledger.new_offsets(r, routes[TOPIC])) for r in plan.slices[0].ranges),
            routes=routes,
            files=(SpecFiles(spec.spec_id, partition_type_of(spec, table.schema()), (file,)),),
        )
        return file, table_files, plan

    def _linked(self, table: Table, name: str) -> DataFile:
        if name not in self._written:
            self._written[name] = _file(table)
        file = self._written[name]
        first = Path(file.file_path.removeprefix("file://"))
        link = first.with_name(f"{uuid.uuid4()}.parquet")
        os.link(first, link)
        return replace(file, file_path=f"file://{link}")

    def commit(self, name: str) -> float:
        """Commit the next run to a table and return how long that took, in seconds."""
        tables = CatalogClient.of(self.connector(name))
        _, table_files, plan = self.write(tables.require(name))
        tables.catalog.close()
        lake = Lake.of(self.connector(name), plan.cluster_id)
        lake.client.load("none.here")  # opens the connection, as a run's first request does
        begun = time.perf_counter()
        committed = commit_table(lake, TableWork.of(plan, announced(plan, table_files), table_files), retry_for=10)
        took = time.perf_counter() - begun
        lake.client.catalog.close()
        if committed.already:
            raise AssertionError(committed)
        return took

    def age(self, name: str, snapshots: int) -> None:
        """Give a table this many snapshots, by copying those of its history under other ids."""
        tables = CatalogClient.of(self.connector(name))
        table = tables.require(name)
        fields = json.loads(table.metadata.model_dump_json())
        fields["snapshots"], fields["snapshot-log"] = _extended(fields["snapshots"], snapshots)
        fields["last-sequence-number"] = fields["snapshots"][-1]["sequence-number"]
        head = fields["snapshots"][-1]
        fields["current-snapshot-id"] = fields["refs"]["main"]["snapshot-id"] = head["snapshot-id"]
        # the ledger is on the last snapshot
        location = f"{table.location()}/metadata/{snapshots:05}-{uuid.uuid4()}.metadata.json"
        Path(location.removeprefix("file://")).write_text(json.dumps(fields, separators=(",", ":")))
        tables.catalog.drop_table(name)
        tables.catalog.register_table(name, location)
        tables.catalog.close()

    def snapshots(self, name: str) -> int:
        """Return how many snapshots a table retains."""
        tables = CatalogClient.of(self.connector(name))
        found = len(tables.require(name).metadata.snapshots)
        tables.catalog.close()
        return found


def plan_of(run: int, *tables: str) -> Plan:
    """Make the plan of a run; all of its positions are where its ranges start."""
    start = (run - 1) * ROWS
    metadata = PositionMetadata("routing", 0, "T1", CLUSTER).encode()
    ranges = tuple(OffsetRange(TOPIC, "T1", p, start, start + ROWS) for p in range(PARTITIONS))
    return Plan(
        plan_id=uuid.uuid4().hex,
        connector="growth",
        group_id=GROUP,
        cluster_id=CLUSTER,
        config={},
        control_topic="control-iceberg",
        control_ends={0: run * 3},
        positions=tuple(Position(r.tp, r.start, metadata) for r in ranges),
        slices=(Slice(0, SliceKind.LIVE, ranges, tables),),
    )


def announced(plan: Plan, *all_table_files: TableFiles) -> Announcement:
    """Make the announcement of a plan's only slice."""
    (slice_,) = plan.slices
    counts = TableCounts(assigned=ROWS * PARTITIONS, rows=ROWS * PARTITIONS)
    return Announcement(
        slice_id=plan.slice_id(slice_),
        commit_id=plan.commit_id,
        kind=slice_.kind,
        ranges=slice_.ranges,
        tables={one.table: TableAnnouncement(counts, one) for one in all_table_files},
        counts=tuple((r, RangeCounts(routed=len(r))) for r in slice_.ranges),
        assignments=tuple(next_offset(r, 1_704_164_645_123) for r in slice_.ranges),
        control_offset=(0, plan.control_ends[0] + 2),
    )


def _file(table: Table) -> DataFile:
    rows = [{"kafka_partition": p, "kafka_offset": o, "text": "x" * 40} for p in range(PARTITIONS) for o in range(ROWS)]
    spec, schema = table.spec(), table.schema()
    writer = TableWriter(table.metadata, table.io, schema, spec, table.properties, "growth")
    writer.write(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(schema)))
    (file,) = writer.close()
    return from_pyiceberg(file, partition_type_of(spec, schema), spec.spec_id)


def _extended(made: list[dict[str, object]], wanted: int) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Put snapshots of other ids before those that were made, each the parent of the next."""
    more = wanted - len(made)
    first, ids = made[0], [10**18 + i for i in range(more)]
    moment = int(str(first["timestamp-ms"])) - more * 1000
    old = [
        {
            **first,
            "snapshot-id": one,
            "sequence-number": i + 1,
            "timestamp-ms": moment + i * 1000,
            **({"parent-snapshot-id": ids[i - 1]} if i else {}),
        }
        for i, one in enumerate(ids)
    ]
    kept = [{**s, "sequence-number": more + i + 1} for i, s in enumerate(made)]
    if ids:
        kept[0]["parent-snapshot-id"] = ids[-1]
    every = old + kept
    return every, [{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]} for s in every]
