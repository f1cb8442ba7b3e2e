"""A connector: one JSON file of Kafka Connect keys, parsed."""

from dataclasses import dataclass
from typing import Literal

from floe.config.partition import PartitionTerm
from floe.config.properties import Properties
from floe.config.secret import is_secret, reference

OFFSET_RESET = "consumer.override.auto.offset.reset"
_TABULAR_GROUP = "iceberg.control.group-id"


@dataclass(frozen=True)
class Connector:
    """Topics into tables: what a run needs to know, validated. Printing it shows no secret.

    ``name`` is also the dag_id. ``commit_branch`` is None for main. A limit of None is no limit; limits count records,
    times are in milliseconds. ``properties`` is the whole flat map that was parsed.
    """

    name: str
    topics: tuple[str, ...]
    tasks_max: int
    tables: tuple[str, ...]
    auto_create: bool
    auto_create_props: Properties
    evolve_schema: bool
    write_props: Properties
    partition_by: tuple[PartitionTerm, ...]
    commit_branch: str | None
    catalog_name: str
    catalog_props: Properties
    control_topic: str
    commit_interval_ms: int
    commit_timeout_ms: int
    group_id: str
    transactional_prefix: str
    control_kafka: Properties
    consumer_overrides: Properties
    kafka_conn_id: str
    spark_conn_id: str
    max_records_per_run: int | None
    on_data_loss: Literal["fail", "accept"]
    warnings: tuple[str, ...]
    properties: Properties

    @property
    def offset_reset(self) -> Literal["earliest", "latest"]:
        """Where a new connector starts."""
        return "latest" if self.properties.get(OFFSET_RESET, "").strip().lower() == "latest" else "earliest"

    @property
    def sink_group_id(self) -> str:
        """The group of the Kafka Connect sink of this name: its positions, and the signature of its events.

        It is floe's own, except where Tabular's sink ran: that kept a group of its own beside it.
        """
        sink = self.properties.get("connector.class", "").strip()
        named = self.properties.get(_TABULAR_GROUP, "").strip()
        if sink.startswith("io.tabular.") or (named and not sink.startswith("org.apache.")):
            return named or f"cg-control-{self.name}"
        return self.group_id

    def frozen(self) -> dict[str, str]:
        """Copy the properties with a reference in the place of every secret: fit for XCom, to be thawed by ``thaw``."""
        return {key: reference(key) if is_secret(key, value) else value for key, value in self.properties.items()}
