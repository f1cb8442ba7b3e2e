"""The cases of the integration tests of Apache's own sink, with their keys and records: made by REST, run in this process."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyiceberg.catalog.rest import RestCatalog as Client
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import IcebergType, IntegerType, LongType, NestedField, StringType, TimestamptzType

from floe.config.stored.stored_connector import CONNECTOR, SECRETS, StoredConnector, parsed, secrets_from_text
from floe_job.exceptions import SliceRefused
from stack.progress import wait_until
from stack.services.broker import Broker
from stack.services.rest_catalog import RestCatalog
from tests.support.api.site import Site, airflow_site
from tests.support.rest.floe_worker import BASE
from tests.support.runs.pipeline import Pipeline
from tests.support.runs.sink_suite import (
    BRANCH,
    BY_DAY,
    DATABASE,
    PARTITIONS,
    SCHEMA,
    Event,
    assert_sinks_summary,
    connector_config,
    new_files,
    send,
)

MAX_SECONDS = 30
BRANCHES = pytest.mark.parametrize("branch", [None, BRANCH])
"""One of the two cases has records with their schema, too."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The API, on which connectors may name what is on this machine."""
    with pytest.MonkeyPatch.context() as patch, airflow_site(tmp_path_factory.mktemp("site")) as one:
        patch.setenv("FLOE_REST_CONNECTORS", "true")
        patch.setenv("FLOE_REST_HOSTS", "http://127.0.0.1:*")
        yield one


@pytest.fixture
def catalog(rest_catalog: RestCatalog) -> Iterator[Client]:
    """A client of the catalog, with an empty namespace of the name that the cases have."""
    client = Client("local", uri=rest_catalog.uri)
    client.create_namespace_if_not_exists(DATABASE)
    yield client
    for table in client.list_tables(DATABASE):
        client.drop_table(table)
    client.drop_namespace(DATABASE)
    client.close()


@dataclass
class Case:
    """One connector on a topic of its own."""

    site: Site
    bootstrap: str
    catalog: Client
    uri: str
    topic: str

    def run(self, has_schema: bool, branch: str | None, events: list[Event], *tables: str, **more: Any) -> list[Table]:
        """Make the connector by REST, send the events, and run it until each table has one snapshot; return the tables."""
        name = f"test_connector-{uuid.uuid4()}"
        config = {**connector_config(self.topic, self.uri, has_schema=has_schema, branch=branch), **more}
        client = self.site.client(BASE)
        answer = client.post("/connectors", json={"name": name, "config": config})
        assert answer.status_code == 201, answer.text
        pipeline = self._pipeline(name)
        send(self.bootstrap, self.topic, *events, has_schema=has_schema)
        assert wait_until(lambda: pipeline.run() is not None and self._are_written(tables), MAX_SECONDS)
        assert client.delete(f"/connectors/{name}").status_code == 204
        return [self.catalog.load_table(f"{DATABASE}.{table}") for table in tables]

    def _pipeline(self, name: str) -> Pipeline:
        """Read the connector as Airflow's processes do, with its secrets as its tasks do."""
        text, secrets = self.site.variable(CONNECTOR + name), self.site.variable(SECRETS + name)
        stored = StoredConnector.from_text(name, text or "")
        config = {**stored.config, **secrets_from_text(secrets)}
        connector = parsed(StoredConnector(name, config), os.environ, ())
        return Pipeline(self.bootstrap, self.topic, connector)

    def _are_written(self, tables: tuple[str, ...]) -> bool:
        with suppress(NoSuchTableError):
            return all(len(self.catalog.load_table(f"{DATABASE}.{table}").snapshots()) == 1 for table in tables)
        return False


@pytest.fixture
def case(site: Site, broker: Broker, catalog: Client, rest_catalog: RestCatalog, topic: Callable[..., str]) -> Case:
    return Case(site, broker.bootstrap, catalog, rest_catalog.uri, topic(PARTITIONS))


def of_two_days() -> list[Event]:
    now = datetime.now(UTC)
    return [Event(1, "type1", now, "hello world!"), Event(2, "type2", now - timedelta(days=3), "having fun?")]


def of_three_types(*payloads: str) -> list[Event]:
    now = datetime.now(UTC)
    return [Event(number, f"type{number}", now, payload) for number, payload in enumerate(payloads, 1)]


def assert_rows(table: Table, branch: str | None, rows: int) -> None:
    """Assert that one or two files were added, by as many tasks, and what the snapshot says."""
    files = new_files(table, branch)
    assert (len(files) in (1, 2), sum(file.record_count for file in files)) == (True, rows)
    assert_sinks_summary(table, branch)


def assert_schema(table: Table, has_schema: bool, id_type: type[IcebergType]) -> None:
    """Assert the columns that were made: of a record without a schema none for null, and numbers for times."""
    types = {field.name: type(field.field_type) for field in table.schema().fields}
    made = {"ts": TimestamptzType, "op": StringType} if has_schema else {"ts": LongType}
    assert types == {"id": id_type, "type": StringType, "payload": StringType, **made}


@BRANCHES
def test_partitioned_table_gets_a_file_for_each_day(case: Case, branch: str | None) -> None:
    case.catalog.create_table(f"{DATABASE}.foobar", SCHEMA, partition_spec=BY_DAY)
    (table,) = case.run(branch is None, branch, of_two_days(), "foobar", **{"iceberg.tables": f"{DATABASE}.foobar"})
    assert [file.record_count for file in new_files(table, branch)] == [1, 1]
    assert_sinks_summary(table, branch)


@BRANCHES
def test_unpartitioned_table_gets_the_rows(case: Case, branch: str | None) -> None:
    case.catalog.create_table(f"{DATABASE}.foobar", SCHEMA)
    (table,) = case.run(branch is None, branch, of_two_days(), "foobar", **{"iceberg.tables": f"{DATABASE}.foobar"})
    assert_rows(table, branch, 2)


@BRANCHES
def test_columns_are_added_and_widened(case: Case, branch: str | None) -> None:
    schema = Schema(
        NestedField(1, "id", IntegerType(), required=True), NestedField(2, "type", StringType(), required=True)
    )
    case.catalog.create_table(f"{DATABASE}.foobar", schema)
    more = {"iceberg.tables": f"{DATABASE}.foobar", "iceberg.tables.evolve-schema-enabled": "true"}
    (table,) = case.run(branch is None, branch, of_two_days(), "foobar", **more)
    assert_rows(table, branch, 2)
    assert_schema(table, branch is None, LongType if branch is None else IntegerType)


@BRANCHES
def test_table_is_created(case: Case, branch: str | None) -> None:
    has_schema = branch is None
    more = {"iceberg.tables": f"{DATABASE}.foobar", "iceberg.tables.auto-create-enabled": "true"}
    if has_schema:
        more["iceberg.tables.default-partition-by"] = "hour(ts)"
    (table,) = case.run(has_schema, branch, of_two_days(), "foobar", **more)
    assert_rows(table, branch, 2)
    assert_schema(table, has_schema, LongType)
    assert table.spec().is_unpartitioned() != has_schema


@BRANCHES
def test_tables_take_the_records_that_their_expressions_match(case: Case, branch: str | None) -> None:
    case.catalog.create_table(f"{DATABASE}.foobar1", SCHEMA, partition_spec=BY_DAY)
    case.catalog.create_table(f"{DATABASE}.foobar2", SCHEMA)
    more = {
        "iceberg.tables": f"{DATABASE}.foobar1, {DATABASE}.foobar2",
        "iceberg.tables.route-field": "type",
        f"iceberg.table.{DATABASE}.foobar1.route-regex": "type1",
        f"iceberg.table.{DATABASE}.foobar2.route-regex": "type2",
    }
    events = of_three_types("hello world!", "having fun?", "ignore me")
    for number, table in enumerate(case.run(branch is None, branch, events, "foobar1", "foobar2", **more), 1):
        assert [file.record_count for file in new_files(table, branch)] == [1]
        assert_sinks_summary(table, branch)
        head = None if branch is None else table.metadata.refs[branch].snapshot_id
        assert table.scan(snapshot_id=head).to_arrow()["id"].to_pylist() == [number]


@BRANCHES
def test_records_name_their_table(case: Case, topic: Callable[..., str], branch: str | None) -> None:
    case.catalog.create_table(f"{DATABASE}.tbl1", SCHEMA, partition_spec=BY_DAY)
    case.catalog.create_table(f"{DATABASE}.tbl2", SCHEMA)
    more = {"iceberg.tables.dynamic-enabled": True, "iceberg.tables.route-field": "payload"}
    events = of_three_types(*(f"{DATABASE}.tbl{number}" for number in (1, 2, 3)))
    with pytest.raises(SliceRefused, match=r"'test\.tbl3' does not exist"):  # which the sink drops, and floe does not
        case.run(branch is None, branch, events, "tbl1", "tbl2", **more)
    assert not any(case.catalog.load_table(f"{DATABASE}.tbl{number}").snapshots() for number in (1, 2))
    case = replace(case, topic=topic(PARTITIONS))
    more["floe.route.on-unroutable"] = "drop"
    for table in case.run(branch is None, branch, events, "tbl1", "tbl2", **more):
        assert [file.record_count for file in new_files(table, branch)] == [1]
        assert_sinks_summary(table, branch)
    assert not case.catalog.table_exists(f"{DATABASE}.tbl3")


def test_topic_that_a_transform_renamed_names_the_table(case: Case) -> None:
    case.catalog.create_table(f"{DATABASE}.smttbl", SCHEMA)
    more = {
        "iceberg.tables.dynamic-enabled": True,
        "iceberg.tables.route-field": "srcTopic",
        "transforms": "rewriteTopic,insertTopic",
        "transforms.rewriteTopic.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.rewriteTopic.regex": ".*",
        "transforms.rewriteTopic.replacement": f"{DATABASE}.smttbl",
        "transforms.insertTopic.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.insertTopic.topic.field": "srcTopic",
    }
    (table,) = case.run(False, None, of_two_days(), "smttbl", **more)
    assert_rows(table, None, 2)
