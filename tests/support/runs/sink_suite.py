"""What the integration tests of Apache's own sink give their connectors, send and look at: ours ask the same of floe."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from confluent_kafka import Producer
from pyiceberg.manifest import DataFile, ManifestEntryStatus
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import DayTransform
from pyiceberg.types import LongType, NestedField, StringType, TimestamptzType

PARTITIONS: Final = 2
DATABASE: Final = "test"
BRANCH: Final = "test_branch"

SCHEMA: Final = Schema(
    NestedField(1, "id", LongType(), required=True),
    NestedField(2, "type", StringType(), required=True),
    NestedField(3, "ts", TimestamptzType(), required=True),
    NestedField(4, "payload", StringType(), required=True),
    identifier_field_ids=[1],
)
BY_DAY: Final = PartitionSpec(PartitionField(3, 1000, DayTransform(), "ts_day"))

_JSON: Final = "org.apache.kafka.connect.json.JsonConverter"
_CONNECT_SCHEMA: Final = {
    "type": "struct",
    "optional": False,
    "fields": [
        {"field": "id", "type": "int64", "optional": False},
        {"field": "type", "type": "string", "optional": False},
        {
            "field": "ts",
            "type": "int64",
            "optional": False,
            "version": 1,
            "name": "org.apache.kafka.connect.data.Timestamp",
        },
        {"field": "payload", "type": "string", "optional": False},
        {"field": "op", "type": "string", "optional": True},
    ],
}


@dataclass(frozen=True)
class Event:
    """One record. It has a column ``op`` that is null."""

    id: int
    type: str
    at: datetime
    payload: str

    def value(self, *, has_schema: bool) -> bytes:
        """Write it as Connect's JSON converter does, with its schema or without."""
        fields = {
            "id": self.id,
            "type": self.type,
            "ts": int(self.at.timestamp() * 1000),
            "payload": self.payload,
            "op": None,
        }
        return json.dumps({"schema": _CONNECT_SCHEMA, "payload": fields} if has_schema else fields).encode()


def send(bootstrap: str, topic: str, *events: Event, has_schema: bool) -> None:
    """Produce events, each with its id as the key."""
    producer = Producer({"bootstrap.servers": bootstrap})
    for event in events:
        producer.produce(topic, event.value(has_schema=has_schema), str(event.id).encode())
    assert producer.flush(30) == 0


def connector_config(topic: str, catalog_uri: str, *, has_schema: bool, branch: str | None = None) -> dict[str, Any]:
    """Return the keys that all of these connectors have: numbers and booleans as JSON has them."""
    config = {
        "topics": topic,
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": 2,
        "consumer.override.auto.offset.reset": "earliest",
        "key.converter": _JSON,
        "key.converter.schemas.enable": False,
        "value.converter": _JSON,
        "value.converter.schemas.enable": has_schema,
        "iceberg.control.commit.interval-ms": 1000,
        "iceberg.control.commit.timeout-ms": 2**31 - 1,
        "iceberg.kafka.auto.offset.reset": "earliest",
        "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": catalog_uri,
        "iceberg.catalog.io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "iceberg.catalog.s3.endpoint": "http://127.0.0.1:9000",
        "iceberg.catalog.s3.access-key-id": "the-access-key",
        "iceberg.catalog.s3.secret-access-key": "the-secret-key",
        "iceberg.catalog.s3.path-style-access": True,
        "iceberg.catalog.client.region": "us-east-1",
    }
    return config if branch is None else {**config, "iceberg.tables.default-commit-branch": branch}


def latest_snapshot(table: Table, branch: str | None) -> Snapshot:
    """Return the last snapshot of a branch; of main for None."""
    found = table.current_snapshot() if branch is None else table.snapshot_by_name(branch)
    assert found is not None, (branch, table.metadata.refs)
    return found


def new_files(table: Table, branch: str | None) -> list[DataFile]:
    """Return the data files that the last snapshot added."""
    snapshot = latest_snapshot(table, branch)
    entries = (
        entry
        for manifest in snapshot.manifests(table.io)
        for entry in manifest.fetch_manifest_entry(table.io)
        if entry.status is ManifestEntryStatus.ADDED and entry.snapshot_id == snapshot.snapshot_id
    )
    return [entry.data_file for entry in entries]


def assert_sinks_summary(table: Table, branch: str | None) -> None:
    """Assert that the last snapshot says what the sink's snapshots say: offsets, commit and task."""
    found = latest_snapshot(table, branch).summary
    summary = {} if found is None else found.additional_properties
    assert any(key.startswith("kafka.connect.offsets.") for key in summary), summary
    assert {"kafka.connect.commit-id", "kafka.connect.task-id"} <= summary.keys(), summary
