"""A small lake: a real SQL catalog in a folder, and tables of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from floe.catalogs.client import CatalogClient, open_catalog
from floe.config import Connector, parse_connector
from floe.model.route_hash import route_hash
from floe.tables.lake import Lake as ConnectorLake
from tests.support.connectors import MINIMAL, sql_catalog

GROUP = "connect-pizzas"
TOPIC, TOPIC_ID, CLUSTER = "completed-pizzas", "T1", "C1"
TABLE, OTHER_TABLE = "rpc.pizzas", "rpc.audit"
ROUTE = route_hash(TOPIC, None)
LEDGER = f"floe.ledger.{GROUP}.main"
OFFSETS = f"kafka.connect.offsets.control-iceberg.{GROUP}"
TIME_MS = 1_704_164_645_123  # 2024-01-02T03:04:05.123Z

SCHEMA = Schema(
    NestedField(1, "kafka_partition", IntegerType(), required=False),
    NestedField(2, "kafka_offset", LongType(), required=False),
    NestedField(3, "sauce", StringType(), required=False),
)
BY_SAUCE = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "sauce"))
SAUCES = ("regular", "light", "none")

Row = tuple[int, int]
"""Kafka partition and offset: what makes a row one and the same."""


@dataclass
class Lake:
    """A catalog in ``folder``; every client of it is closed with the lake."""

    folder: Path
    _clients: list[Catalog] = field(default_factory=list)

    def connector(self, **over: object) -> Connector:
        return parse_connector(
            {**MINIMAL, "topics": TOPIC, "iceberg.tables": TABLE, **sql_catalog(self.folder), **over}
        )

    def catalog(self) -> Catalog:
        """Open another client of the catalog."""
        client = open_catalog(self.connector())
        self._clients.append(client)
        return client

    def of_others(self, name: str = TABLE) -> Table:
        """Load a table as others do, by PyIceberg's own catalog."""
        connector = self.connector()
        client = load_catalog(connector.catalog.name, **connector.catalog.properties)
        self._clients.append(client)
        return client.load_table(name)

    def tables(self, catalog: Catalog | None = None, **over: object) -> CatalogClient:
        return CatalogClient(catalog or self.catalog(), self.connector(**over))

    def opened(self, catalog: Catalog | None = None, **over: object) -> ConnectorLake:
        """Return its tables as floe opens them."""
        client = self.tables(catalog, **over)
        return ConnectorLake(client, client.connector, CLUSTER)

    def create(
        self,
        spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC,
        properties: Mapping[str, str] | None = None,
        schema: Schema = SCHEMA,
        name: str = TABLE,
    ) -> Table:
        catalog = self.catalog()
        catalog.create_namespace_if_not_exists("rpc")
        return catalog.create_table(name, schema, partition_spec=spec, properties=dict(properties or {}))

    def replace(self, name: str = TABLE) -> None:
        """Drop a table and create another of its name."""
        self.catalog().drop_table(name)
        self.create(name=name)

    def load(self, name: str = TABLE) -> Table:
        return self.catalog().load_table(name)

    def rows(self, branch: str = "main", name: str = TABLE) -> list[Row]:
        """Return all rows of a branch, sorted; a row that is there twice is twice in the list."""
        table = self.load(name)
        if branch not in table.metadata.refs:
            return []
        found = table.scan().use_ref(branch).to_arrow().to_pylist()
        return sorted((row["kafka_partition"], row["kafka_offset"]) for row in found)

    def close(self) -> None:
        for client in self._clients:
            client.close()


def expected(*spans: tuple[int, int], partition: int = 0) -> list[Row]:
    """Return the rows that stand for offsets of one partition."""
    return sorted((partition, offset) for start, end in spans for offset in range(start, end))


def head(lake: Lake, branch: str = "main") -> int:
    return lake.load().metadata.refs[branch].snapshot_id
