"""A stand-in for the Iceberg sink: files, events and positions as the real one leaves them, at any moment of a commit."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import confluent_kafka as ck
import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from floe.catalogs.client import CatalogClient
from floe.config import Connector
from floe.control.data_files import from_pyiceberg, partition_type_of
from floe.control.wire.codec import encode
from floe.control.wire.events import DataComplete, DataFile, DataWritten, Event, PartitionType, Payload, TableReference
from floe.parquet.table_writer import TableWriter

SCHEMA = Schema(NestedField(1, "id", LongType(), required=False), NestedField(2, "sauce", LongType(), required=False))


@dataclass
class SinkDouble:
    """The sink of one connector; ``group`` signs its events and holds its positions."""

    bootstrap: str
    topic: str
    connector: Connector
    group: str = ""
    commit_id: uuid.UUID = field(default_factory=uuid.uuid4)

    def __post_init__(self) -> None:
        self.group = self.group or self.connector.group_id
        self.tables = CatalogClient.of(self.connector)

    # -- tables and files ---------------------------------------------------------------------------------------------

    def create(self, name: str) -> Table:
        return self.tables.create(name, SCHEMA)

    def load(self, name: str) -> Table:
        return self.tables.require(name)

    def write(self, name: str, ids: Sequence[int]) -> tuple[DataFile, ...]:
        """Write rows to files of a table, which does not know them yet."""
        table = self.load(name)
        spec, schema = table.spec(), table.schema()
        writer = TableWriter(table.metadata, table.io, schema, spec, table.properties, "sink")
        writer.write(pa.Table.from_pylist([{"id": i} for i in ids], schema=schema_to_pyarrow(schema)))
        return tuple(from_pyiceberg(f, partition_type_of(spec, schema), spec.spec_id) for f in writer.close())

    def written(self, name: str, files: Sequence[DataFile], **changes: Any) -> DataWritten:
        """Make the event of files; ``changes``: fields of the table reference, and ``delete_files``."""
        deletes = changes.pop("delete_files", ())
        table = self.tables.load(name)
        *namespace, simple = name.split(".")
        fields = {
            "catalog": self.connector.catalog.name,
            "namespace": tuple(namespace),
            "name": simple,
            "table_uuid": table.metadata.table_uuid if table else uuid.uuid4(),
        }
        partition_type = partition_type_of(table.spec(), table.schema()) if table else PartitionType()
        return DataWritten(
            self.commit_id, TableReference(**{**fields, **changes}), tuple(files), tuple(deletes), partition_type
        )

    # -- Kafka --------------------------------------------------------------------------------------------------------

    def announce(
        self, *written: DataWritten, positions: Mapping[int, int] | None = None, complete: bool = True
    ) -> None:
        """Send events and positions in one transaction, as a task does."""
        payloads: list[Payload] = [*written, *([DataComplete(self.commit_id, ())] if complete else [])]
        producer = self.open(payloads)
        self.send_positions(producer, positions or {}, self.group)
        producer.commit_transaction(30)

    def open(self, payloads: Sequence[Payload], timeout_ms: int = 60_000) -> ck.Producer:
        """Begin a transaction with events in it, and leave it open."""
        producer = ck.Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": f"worker-txn-{uuid.uuid4()}",
                "transaction.timeout.ms": timeout_ms,
            }
        )
        producer.init_transactions(30)
        producer.begin_transaction()
        key = str(uuid.uuid4())
        for payload in payloads:
            producer.produce(self.connector.control_topic, encode(Event.of(self.group, payload)), key=key)
        assert producer.flush(30) == 0
        return producer

    def send_positions(
        self, producer: ck.Producer, positions: Mapping[int, int], group: str, topic: str | None = None
    ) -> None:
        if not positions:
            return
        lender = ck.Consumer({"bootstrap.servers": self.bootstrap, "group.id": group})
        offsets = [ck.TopicPartition(topic or self.topic, p, offset) for p, offset in positions.items()]
        producer.send_offsets_to_transaction(offsets, lender.consumer_group_metadata(), 30)
        lender.close()

    def set_positions(self, positions: Mapping[int, int], group: str | None = None, topic: str | None = None) -> None:
        """Set positions of a group without metadata."""
        producer = self.open([])
        self.send_positions(producer, positions, group or self.group, topic)
        producer.commit_transaction(30)

    def commit(self, name: str, ids: Sequence[int], control_offsets: Mapping[int, int]) -> None:
        """Append rows as the sink's coordinator does: with the control offsets that it is at."""
        table = self.load(name)
        key = f"kafka.connect.offsets.{self.connector.control_topic}.{self.group}"
        offsets = json.dumps({str(p): offset for p, offset in control_offsets.items()}, separators=(",", ":"))
        rows = pa.Table.from_pylist([{"id": i} for i in ids], schema=schema_to_pyarrow(table.schema()))
        table.append(rows, {key: offsets}, branch=self.connector.settings.default.branch or "main")
