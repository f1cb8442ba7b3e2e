"""What becomes of each exception of a metastore, as it comes over Thrift: a refusal, a conflict, an outage, or unknown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hive_metastore.ttypes import (
    AlreadyExistsException,
    InvalidObjectException,
    InvalidOperationException,
    MetaException,
    NoSuchLockException,
    NoSuchObjectException,
    NoSuchTxnException,
    TxnAbortedException,
)
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import LongType, NestedField

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import (
    CatalogFailed,
    CatalogMisconfigured,
    CatalogUnreachable,
    TableRefused,
    TableUnsuitable,
)
from floe.config import ConfigError, parse_connector
from floe.tables.lake import Lake
from tests.support.connectors import MINIMAL
from tests.support.metastores.stub_metastore import StubMetastore
from tests.support.slow_server import dripping

ALTER = "alter_table_with_environment_context"
GIVEN = {key: value for key, value in MINIMAL.items() if not key.startswith("iceberg.catalog.")}
SAID = "the metastore's own words"


@pytest.fixture
def metastore() -> Iterator[StubMetastore]:
    one = StubMetastore()
    yield one
    one.close()


@pytest.fixture
def tables(metastore: StubMetastore, tmp_path: Path) -> CatalogClient:
    return CatalogClient.of(connector(metastore.uri, str(tmp_path)))


def connector(uri: str, warehouse: str, **keys: str) -> Any:
    catalog = {"type": "hive", "uri": uri, "warehouse": warehouse}
    return parse_connector({**GIVEN, **{f"iceberg.catalog.{key}": value for key, value in catalog.items()}, **keys})


def schema(*names: str) -> Schema:
    return Schema(*(NestedField(i, name, LongType(), required=False) for i, name in enumerate(names, 1)))


def add_column(tables: CatalogClient, name: str) -> None:
    table = tables.require("db.t")
    with tables.changing("db.t"), table.update_schema() as update:
        update.add_column((name,), LongType())


def set_property(tables: CatalogClient) -> None:
    table = tables.require("db.t")
    with tables.committing("db.t"), table.transaction() as transaction:
        transaction.set_properties({"x": "y"})


@pytest.mark.parametrize(
    ("method", "failure", "becomes"),
    [
        ("get_table", MetaException(SAID), CatalogFailed),
        ("get_table", MetaException("Permission denied: user=x"), CatalogMisconfigured),
        ("get_table", MetaException("Unable to open a test connection to the given database"), CatalogUnreachable),
        ("get_table", InvalidObjectException(SAID), CatalogFailed),  # not declared there: TApplicationException
        ("create_table", InvalidObjectException(SAID), TableUnsuitable),
        ("create_table", MetaException(SAID), CatalogFailed),
        ("create_table", MetaException("has maximum length of 128"), TableUnsuitable),
        ("create_table", NoSuchObjectException(SAID), TableUnsuitable),
        ("create_database", InvalidObjectException(SAID), TableUnsuitable),
        ("create_database", MetaException(SAID), CatalogFailed),
        ("create_table", RuntimeError(SAID), CatalogFailed),
    ],
)
def test_exception_while_a_table_is_created_is_told_by_its_words(
    metastore: StubMetastore, tables: CatalogClient, method: str, failure: Exception, becomes: type[Exception]
) -> None:
    metastore.failures[method] = failure
    with pytest.raises(becomes) as caught:
        tables.load("db.t") or tables.create("db.t", schema("id"))
    assert type(caught.value) is becomes
    said = str(getattr(failure, "message", ""))
    is_told = method != "get_table" or not isinstance(failure, InvalidObjectException)
    assert said in str(caught.value) or not is_told
    assert ("is up" in str(caught.value)) is (becomes is CatalogUnreachable)


def test_table_that_another_created_first_is_loaded(metastore: StubMetastore, tables: CatalogClient) -> None:
    made = tables.create("db.t", schema("id"))
    metastore.failures["create_table"] = AlreadyExistsException(SAID)
    assert tables.create("db.t", schema("id")).metadata.table_uuid == made.metadata.table_uuid


@pytest.mark.parametrize(
    ("method", "failure", "changes", "commits"),
    [
        (ALTER, InvalidOperationException(SAID), TableUnsuitable, TableRefused),
        (ALTER, MetaException(SAID), CatalogFailed, CatalogUnreachable),
        (ALTER, MetaException("Duplicate column name: id"), TableUnsuitable, TableRefused),
        (ALTER, MetaException("The table has been modified"), CommitFailedException, CommitFailedException),
        (ALTER, RuntimeError(SAID), CatalogFailed, CatalogUnreachable),
        ("lock", TxnAbortedException(SAID), CommitFailedException, CommitFailedException),
        ("lock", NoSuchTxnException(SAID), CommitFailedException, CommitFailedException),
        ("check_lock", NoSuchLockException(SAID), CommitFailedException, CommitFailedException),
    ],
)
def test_exception_of_a_change_keeps_its_words_and_its_meaning(
    metastore: StubMetastore,
    tables: CatalogClient,
    method: str,
    failure: Exception,
    changes: type[Exception],
    commits: type[Exception],
) -> None:
    tables.create("db.t", schema("id"))
    metastore.failures[method] = failure
    with pytest.raises(changes) as changed:
        add_column(tables, "x")
    with pytest.raises(commits) as committed:
        set_property(tables)
    for caught in (changed, committed):
        assert type(caught.value) in (changes, commits)
        assert "immutable" not in str(caught.value)
        assert "is up" not in str(caught.value)


@pytest.mark.parametrize(("first", "second"), [("id", "ID"), ("id", "id "), ("Straße", "STRAßE"), ("a b", "A B  ")])
def test_column_that_is_the_same_to_a_metastore_is_refused_by_both_names(
    tables: CatalogClient, first: str, second: str
) -> None:
    tables.create("db.t", schema(first))
    with pytest.raises(TableUnsuitable, match=f"columns {first!r} and {second!r}.*Nothing was changed"):
        add_column(tables, second)
    add_column(tables, "other")  # the table takes what it did not refuse
    with pytest.raises(TableUnsuitable, match=f"columns {first!r} and {second!r}"):
        tables.create("db.new", schema(first, second))


class OneColumn:
    """A change of a table's schema: one column more."""

    def __init__(self, name: str) -> None:
        self._name = name

    def count(self) -> int:
        return 1

    def new_schema(self) -> Schema:
        return schema(self._name)

    def apply(self, update: UpdateSchema) -> None:
        update.add_column((self._name,), LongType())


def test_table_that_refuses_a_column_leaves_the_others_to_go_on(
    metastore: StubMetastore, tables: CatalogClient
) -> None:
    for name in ("db.t", "db.other"):
        tables.create(name, schema("id"))
    lake = Lake(tables, tables.connector, "cluster-1")
    opened = lake.states(["db.t", "db.other", "db.new"])
    refused = lake.evolve(opened["db.t"], OneColumn("ID"))
    assert isinstance(refused.problem, TableUnsuitable)
    assert "'id' and 'ID'" in str(refused.problem)
    assert lake.evolve(opened["db.other"], OneColumn("more")).problem is None
    metastore.failures["create_table"] = InvalidObjectException("db.new is not a valid object name")
    assert isinstance(lake.evolve(opened["db.new"], OneColumn("id")).problem, TableUnsuitable)
    metastore.failures["create_table"] = MetaException(SAID)
    with pytest.raises(CatalogFailed, match=SAID):  # it may pass: no table is refused for it
        lake.evolve(opened["db.new"], OneColumn("id"))


def test_column_with_a_name_too_long_for_a_metastore_is_refused(tables: CatalogClient) -> None:
    with pytest.raises(TableUnsuitable, match="has 768 characters, a Hive metastore takes 767"):
        tables.create("db.t", schema("c" * 768))


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("db.my-table", "'my-table' is not made of"),
        ("my-db.t", "'my-db' is not made of"),
        ("db.tä", "is not made of"),
        ("db." + "t" * 250 + "\u00e4", "is not made of"),
        ("d" * 129 + ".t", "has 129 characters, a metastore takes 128"),
        ("a.b.t", "database.table"),
    ],
)
def test_table_that_a_metastore_does_not_take_is_refused_before_it_is_asked(
    tables: CatalogClient, table: str, text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        connector("thrift://h:1", "/w", **{"iceberg.tables": table})
    with pytest.raises(TableUnsuitable, match=text):
        tables.create(table, schema("id"))


def test_tables_that_are_one_to_a_catalog_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'db\.t' and 'db\.T' are one table in a catalog of type hive"):
        connector("thrift://h:1", "/w", **{"iceberg.tables": "db.t, db.T"})
    with pytest.raises(ConfigError, match=r"'db\.t' and 'DB\.t' are one table"):
        connector("thrift://h:1", "/w", **{"iceberg.tables": "db.t", "floe.deadletter.table": "DB.t"})
    assert connector("thrift://h:1", "/w", **{"iceberg.tables": "DB.T"}).tables == ("DB.T",)


@pytest.mark.parametrize(
    ("table", "text"), [("db.T", "write 't'"), ("a.b.t", "database.table"), ("db." + "t" * 256, "255")]
)
def test_table_that_glue_does_not_take_is_refused(table: str, text: str) -> None:
    given = {**GIVEN, "iceberg.catalog.type": "glue", "iceberg.catalog.warehouse": "s3://b/w", "iceberg.tables": table}
    with pytest.raises(ConfigError, match=text):
        parse_connector(given)


@pytest.mark.parametrize(
    ("begin", "again"),
    [
        (b"", b"\0"),  # the length of a frame, the name of a method, ...: byte by byte
        (b"\x80\x01\x00\x02\x00\x00\x10\x00", b"a"),
        (b"\x80\x01\x00\x02\x00\x00\x00\x11get_all_databases\x00\x00\x00\x00\x0f\x00\x00\x0b\x00\x0f\xff\xff", b"\0"),
    ],
)
def test_answer_of_a_metastore_without_an_end_is_an_outage_in_time(
    begin: bytes, again: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("floe.catalogs.providers.hive.client.TIMEOUT_MS", 300)
    with dripping((begin, again)) as address:
        tables = CatalogClient.of(connector(address.replace("http:", "thrift:"), str(tmp_path)))
        begun = monotonic()
        with pytest.raises(CatalogUnreachable, match="load table"):
            tables.load("db.t")
        assert monotonic() - begun < 5


def test_answer_of_a_metastore_that_claims_gigabytes_is_refused(tmp_path: Path) -> None:
    with dripping((b"\x80\x01\x00\x02\x7f\xff\xff\xff", b"a")) as address:
        tables = CatalogClient.of(connector(address.replace("http:", "thrift:"), str(tmp_path)))
        with pytest.raises(CatalogFailed, match="Length exceeded max allowed"):
            tables.load("db.t")
