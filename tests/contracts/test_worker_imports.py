"""What Spark's new workers load: what their task names, and nothing that reads connectors or opens catalogs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.io import load_file_io
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, LongType, NestedField, StringType, TimestamptzType

from floe.config import parse_connector
from floe.config.converters.kinds import ENGINES
from floe.config.sections.routing import Routing
from floe.config.sections.tables import TableSettings
from floe.config.transforms.kafka_records import PREDICATES
from floe.model.offsets import OffsetRange
from floe_job.contract.task import DeadLetterRules, RouteRules, TableTarget, Task
from floe_job.source.record_batch import RangePart
from tests.support.connectors import MINIMAL
from tests.support.job.new_worker import loaded_by
from tests.support.job.transform_settings import all_settings
from tests.support.job.transforms import transform
from tests.support.tables.parquet_tables import TableFactory, new_table

__all__ = ["new_table"]

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
    NestedField(3, "price", DoubleType(), required=False),
    NestedField(4, "sold_at", TimestamptzType(), required=False),
)
PLAIN = [b'{"id":%d,"name":"Margherita","price":7.5,"sold_at":1700000000000}' % i for i in range(50)]
POLICY = parse_connector(MINIMAL).errors

MOST = 225
"""Modules of such a task; once there were 609."""

UNUSED = (
    "airflow",
    "fastavro",
    "floe.catalogs.client",
    "floe.catalogs.providers",
    "floe.config.catalogs.catalog_types",
    "floe.config.connector",
    "floe.config.expressions",
    "floe.config.keys.lookup",
    "floe.config.parser",
    "floe.config.transforms",
    "floe.control.announcement",
    "floe.control.wire.codec",
    "floe.kafka.settings",
    "floe.kafka.transactions",
    "floe.registry",
    "floe.tables.table_state",
    "floe.tls",
    "floe_job.convert.avro",
    "floe_job.convert.envelope",
    "floe_job.convert.json_schema",
    "floe_job.convert.protobuf",
    "floe_job.dead_letters.table_rows",
    "floe_job.dead_letters.topic",
    "floe_job.driver",
    "floe_job.transform.batch",
    "floe_job.transform.confluent",
    "floe_job.transform.debezium",
    "floe_job.transform.iceberg",
    "floe_job.transform.kafka",
    "floe_job.transform.kafka_metadata",
    "floe_job.transform.own",
    "http",
    "tenacity",
)
"""Packages and modules that flat JSON, without transforms or a registry, has no use for."""


@pytest.fixture
def flat_json(new_table: TableFactory) -> Task:
    table = new_table(SCHEMA)
    io = load_file_io(dict(table.properties), table.location())
    read = OffsetRange("pizzas", "T1", 0, 0, len(PLAIN))
    return Task(
        0,
        (RangePart(read, 0, len(PLAIN)),),
        (TableTarget("ns.t", table.metadata, io, table.properties),),
        RouteRules(Routing(), (("ns.t", TableSettings()),)),
        DeadLetterRules(POLICY, "c", "id"),
        {},
    )


def within(modules: frozenset[str], packages: Sequence[str]) -> list[str]:
    """Return the modules that are one of these, or in it."""
    return sorted(name for name in modules if any(name == one or name.startswith(f"{one}.") for one in packages))


def test_flat_json_loads_nothing_that_it_does_not_use(flat_json: Task, tmp_path: Path) -> None:
    loaded = loaded_by(flat_json, PLAIN, tmp_path)
    assert within(loaded, UNUSED) == []
    assert len(loaded) <= MOST, sorted(loaded)


def test_a_transform_loads_its_own_code(flat_json: Task, tmp_path: Path) -> None:
    masked = replace(flat_json.routes, transforms=(transform("MaskField$Value", fields="name"),))
    loaded = loaded_by(replace(flat_json, routes=masked), PLAIN, tmp_path)
    assert {"floe_job.transform.kafka.fields", "floe.config.transforms.kafka_fields"} <= loaded
    others = ("kafka.cast", "kafka.flatten", "kafka.routers", "debezium.event", "iceberg.debezium", "own", "documents")
    assert within(loaded, [f"floe_job.transform.{name}" for name in others]) == []


def test_code_of_every_transform_predicate_and_converter_is_there() -> None:
    settings = all_settings()
    engines = [one for kind in settings for one in (kind.engine.records, kind.engine.columns) if one]
    assert len(engines) > len(settings) > 20
    for engine in (*engines, *(one.engine for one in PREDICATES.values()), *ENGINES.values()):
        assert callable(engine.load())
