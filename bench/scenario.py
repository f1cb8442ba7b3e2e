"""The input of a system: a topic with records, and the tables that they go to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.transforms import IdentityTransform

from bench.records import TABLES, Shape
from bench.topics import BATCH

PARTITIONED_BY = "sauce"


@dataclass(frozen=True)
class Scenario:
    """``layout``: ``one`` table, one that is ``partitioned``, or a ``hundred`` that records name. ``batch``: the bytes of the
    producers' batches.
    """

    name: str
    shape: Shape
    topic: str
    records: int
    layout: str = "one"
    batch: int = BATCH

    @property
    def rows(self) -> int:
        """How many rows become of the records."""
        return self.records

    def tables(self, namespace: str) -> list[str]:
        """Return the names of the tables, in one namespace for each run of a system."""
        if self.layout == "hundred":
            # the records contain the full names of their tables
            return [f"bench.t{i:03d}" for i in range(TABLES)]
        return [f"{namespace}.t"]

    def create(self, catalog: Catalog, namespace: str) -> list[str]:
        """Create the tables, empty, and return their names; those of another run are dropped."""
        names = self.tables(namespace)
        catalog.create_namespace_if_not_exists(names[0].split(".", 1)[0])
        properties = {"commit.manifest-merge.enabled": "true"}
        for name in names:
            if catalog.table_exists(name):
                catalog.drop_table(name)
            catalog.create_table(name, self.shape.schema, partition_spec=self._spec(), properties=properties)
        return names

    def keys(self, namespace: str) -> dict[str, Any]:
        """Return a connector's keys, the same for floe and for the sink."""
        routing: dict[str, Any] = {"iceberg.tables": f"{namespace}.t"}
        if self.layout == "hundred":
            routing = {"iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "target"}
        return {
            "topics": self.topic,
            "tasks.max": 2,
            **routing,
            "iceberg.tables.evolve-schema-enabled": "true",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter.schemas.enable": "false",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "iceberg.control.topic": f"control-{namespace}",
            "consumer.override.auto.offset.reset": "earliest",
        }

    def _spec(self) -> PartitionSpec:
        if self.layout != "partitioned":
            return PartitionSpec()
        column = self.shape.schema.find_field(PARTITIONED_BY)
        return PartitionSpec(PartitionField(column.field_id, 1000, IdentityTransform(), PARTITIONED_BY))
