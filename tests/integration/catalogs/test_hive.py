"""A Hive metastore's locks, and what floe does when they, an answer or the metastore itself are lost."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hive_metastore.ttypes import ShowLocksRequest, UnlockRequest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from floe.catalogs.exceptions import CatalogFailed, CatalogMisconfigured, CatalogUnreachable, TableUnsuitable
from floe.config.catalogs.base import CatalogType
from floe.config.catalogs.hive import HIVE
from floe.tables.exceptions import TableNotCommitted
from stack.settings import free_port
from tests.support.catalogs import HiveLake
from tests.support.fixtures import short_waits  # noqa: F401 - of every test here
from tests.support.metastores.hive_metastore import PACKAGES_4, HiveMetastore
from tests.support.tables.lake import SCHEMA, TABLE, expected
from tests.support.tables.slices import write_slice
from tests.support.tables.thrift_proxy import ThriftProxy

NAMESPACE, NAME = TABLE.split(".")
ALTER = "alter_table_with_environment_context"
SHORT = {"iceberg.catalog.iceberg.hive.lock-timeout-ms": "300"}


@pytest.fixture
def proxy(hive_metastore: HiveMetastore) -> Iterator[ThriftProxy]:
    one = ThriftProxy(hive_metastore.port)
    yield one
    one.close()


@pytest.fixture
def lake(tmp_path: Path, hive_metastore: HiveMetastore, proxy: ThriftProxy) -> Iterator[HiveLake]:
    """A lake that is reached through the proxy."""
    made = HiveLake(tmp_path, server=hive_metastore, keys={"iceberg.catalog.uri": proxy.uri, **SHORT})
    made.create()
    yield made
    release_locks(made)
    made.close()


def locks(lake: HiveLake) -> list[Any]:
    catalog: Any = lake.catalog()
    with catalog._client as client:
        return list(client.show_locks(ShowLocksRequest(dbname=NAMESPACE, tablename=NAME)).locks or ())


def release_locks(lake: HiveLake) -> None:
    catalog: Any = lake.catalog()
    for lock in locks(lake):
        with catalog._client as client:
            client.unlock(UnlockRequest(lockid=lock.lockid))


def left_lock(lake: HiveLake) -> int:
    """Take the table's lock as a committer does that is killed then."""
    catalog: Any = lake.catalog()
    with catalog._client as client:
        taken: int = client.lock(catalog._create_lock_request(NAMESPACE, NAME)).lockid
        return taken


def test_lock_of_a_killed_committer_is_named(lake: HiveLake) -> None:
    written = write_slice(lake, (0, 0, 5))
    lock = left_lock(lake)
    with pytest.raises(TableNotCommitted, match=f"holds lock {lock} on {TABLE}.*HL_LOCK_EXT_ID = {lock}"):
        written.land(timeout_s=1)
    assert [one.lockid for one in locks(lake)] == [lock]  # floe's own request is not left in the queue
    assert lake.rows() == []
    release_locks(lake)
    assert not written.land().already
    assert lake.rows() == expected((0, 5))


def test_lock_that_is_released_in_time_is_taken(lake: HiveLake) -> None:
    written = write_slice(lake, (0, 0, 5))
    lake.keys["iceberg.catalog.iceberg.hive.lock-timeout-ms"] = "60000"
    lock, catalog = left_lock(lake), lake.catalog()
    wait = catalog._wait_for_lock  # type: ignore[attr-defined]

    def released(*args: Any) -> Any:
        with lake.catalog()._client as client:  # type: ignore[attr-defined]
            client.unlock(UnlockRequest(lockid=lock))
        return wait(*args)

    catalog._wait_for_lock = released  # type: ignore[attr-defined]
    assert not written.land(catalog).already


@pytest.mark.parametrize(
    ("method", "already"), [("lock", False), ("check_lock", False), (ALTER, True), ("unlock", False)]
)
def test_lost_answer_leaves_rows_once_and_no_lock(
    lake: HiveLake, proxy: ThriftProxy, method: str, already: bool
) -> None:
    written = write_slice(lake, (0, 0, 5))
    proxy.lose_answer(method)
    assert written.land().already is already
    assert lake.rows() == expected((0, 5))
    assert locks(lake) == []


@pytest.mark.parametrize("method", ["lock", "unlock"])
def test_lost_request_leaves_rows_once_and_no_lock(lake: HiveLake, proxy: ThriftProxy, method: str) -> None:
    written = write_slice(lake, (0, 0, 5))
    proxy.lose_request(method)
    assert not written.land().already
    assert lake.rows() == expected((0, 5))
    assert locks(lake) == []


def test_change_without_an_answer_keeps_the_lock(
    lake: HiveLake, proxy: ThriftProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    # it may still be made: another commit below it would be lost
    monkeypatch.setattr("floe.catalogs.providers.hive.client._SETTLES_WITHIN", 0.3)
    written = write_slice(lake, (0, 0, 5))
    proxy.lose_request(ALTER)
    with pytest.raises(TableNotCommitted, match="holds lock"):
        written.land(timeout_s=2)
    assert len(locks(lake)) == 1
    release_locks(lake)
    assert not written.land().already
    assert lake.rows() == expected((0, 5))


def test_expired_lock_is_a_conflict(lake: HiveLake) -> None:
    # a process that stood still for as long as a lock lives, while another one commits
    first, second = write_slice(lake, (0, 0, 5)), write_slice(lake, (0, 0, 5), plan_id="plan-2")
    catalog: Any = lake.catalog()
    stage = catalog._update_and_stage_table

    def stands_still(*args: Any) -> Any:
        catalog._update_and_stage_table = stage
        release_locks(lake)
        second.land()
        return stage(*args)

    catalog._update_and_stage_table = stands_still
    assert first.land(catalog).already
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


@pytest.mark.full
def test_metastore_that_restarts_in_a_commit_loses_nothing(tmp_path: Path) -> None:
    server = HiveMetastore(tmp_path, free_port())
    server.start()
    lake = HiveLake(tmp_path / "lake", server=server)
    lake.folder.mkdir()
    try:
        lake.create()
        written = write_slice(lake, (0, 0, 5))
        catalog: Any = lake.catalog()
        stage = catalog._update_and_stage_table

        def restarts(*args: Any) -> Any:
            catalog._update_and_stage_table = stage
            server.stop()
            server.start()
            return stage(*args)

        catalog._update_and_stage_table = restarts
        assert not written.land(catalog, timeout_s=60).already
        assert lake.rows() == expected((0, 5))
        assert locks(lake) == []
    finally:
        lake.close()
        server.stop()


def _land(folder: str, keys: dict[str, str], server: HiveMetastore, partition: int) -> None:
    lake = HiveLake(Path(folder), server=server, keys=keys)
    for start in (0, 5, 10):
        write_slice(lake, (partition, start, start + 5), plan_id=f"plan-{partition}-{start}").land(timeout_s=120)
    lake.catalog().close()


def test_two_processes_at_once_lose_no_commit(lake: HiveLake, hive_metastore: HiveMetastore) -> None:
    keys = {**lake.keys, "iceberg.catalog.iceberg.hive.lock-timeout-ms": "60000"}
    server = HiveMetastore(hive_metastore._folder, hive_metastore.port)  # without its process, which cannot be sent
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=_land, args=(str(lake.folder), keys, server, p)) for p in (0, 1)]
    for one in both:
        one.start()
    for one in both:
        one.join(180)
    assert [one.exitcode for one in both] == [0, 0]
    assert lake.rows() == expected((0, 15)) + expected((0, 15), partition=1)
    assert len(lake.load().metadata.snapshots) == 6


def test_second_metastore_is_asked_if_the_first_is_down(lake: HiveLake, proxy: ThriftProxy) -> None:
    lake.keys["iceberg.catalog.uri"] = f"thrift://127.0.0.1:{free_port()},{proxy.uri}"
    assert lake.load().name() == (NAMESPACE, NAME)
    lake.keys["iceberg.catalog.uri"] = f"thrift://127.0.0.1:{free_port()}"
    try:
        with pytest.raises(CatalogUnreachable, match="Could not connect"):
            lake.tables().load(TABLE)
    finally:
        lake.keys["iceberg.catalog.uri"] = proxy.uri


@pytest.mark.full
def test_metastore_of_hive_4_is_refused_by_its_version(tmp_path: Path) -> None:
    server = HiveMetastore(tmp_path, free_port(), PACKAGES_4)
    lake = HiveLake(tmp_path, server=server)
    try:
        server.start()
        with pytest.raises(CatalogMisconfigured, match=r"it is of version 4\.0\.1 .*versions 2 and 3 only"):
            lake.tables().load(TABLE)
    finally:
        server.stop()


def test_table_that_is_not_icebergs_is_refused(lake: HiveLake) -> None:
    catalog: Any = lake.catalog()
    with catalog._client as client:
        table = client.get_table(NAMESPACE, NAME)
        table.tableName, table.parameters = "plain", {"EXTERNAL": "TRUE"}
        client.create_table(table)
    with pytest.raises(TableUnsuitable, match=r"'rpc\.plain' is in Hive and is no Iceberg table"):
        lake.tables().load("rpc.plain")
    assert lake.tables().names("rpc") == [TABLE]
    lake.catalog().drop_table("rpc.plain")


def test_conflict_of_two_clients_is_one(lake: HiveLake) -> None:
    first, second = lake.load(), lake.load()
    with first.update_schema() as update:
        update.add_column("size", SCHEMA.find_field("sauce").field_type)
    with pytest.raises(CommitFailedException), second.update_schema() as update:
        update.add_column("weight", SCHEMA.find_field("sauce").field_type)


def test_namespace_in_a_namespace_is_refused(lake: HiveLake) -> None:
    with pytest.raises(TableUnsuitable, match="cannot be a namespace in Hive"):
        lake.tables().create("rpc.inner.t", SCHEMA)


@pytest.mark.parametrize(("first", "second"), [("id", "ID"), ("id", "id "), ("id", "Id  ")])
def test_column_that_the_metastore_does_not_take_leaves_the_table_as_it_is(
    lake: HiveLake, first: str, second: str
) -> None:
    # its own answer to the second one is "Add request failed : INSERT INTO COLUMNS_V2 ..."
    tables, name = lake.tables(), f"db.folded_{second.encode().hex()}"
    tables.create(name, Schema(NestedField(1, first, LongType(), required=False)))
    for _ in range(2):
        table = tables.require(name)
        with pytest.raises(TableUnsuitable, match=f"columns {first!r} and {second!r}"), tables.changing(name):
            table.update_schema().add_column((second,), LongType()).commit()
    with tables.changing(name):
        tables.require(name).update_schema().add_column(("other",), LongType()).commit()
    assert tables.require(name).schema().column_names == [first, "other"]
    assert locks(lake) == []


def test_what_only_the_metastore_refuses_is_told_in_its_words(lake: HiveLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("floe.catalogs.providers.hive.catalog.HIVE", CatalogType("hive", HIVE.provider))
    monkeypatch.setattr("floe.catalogs.providers.hive.catalog._check_columns", lambda *_: None)
    tables, schema = lake.tables(), Schema(NestedField(1, "id", LongType(), required=False))
    with pytest.raises(TableUnsuitable, match="InvalidObjectException: my-table is not a valid object name"):
        tables.create("db.my-table", schema)
    with pytest.raises(TableUnsuitable, match="maximum length of 128"):
        tables.create(f"{'d' * 129}.t", schema)
    tables.create("db.words", schema)
    with pytest.raises(CatalogFailed, match="MetaException: Add request failed") as caught, tables.changing("db.words"):
        tables.require("db.words").update_schema().add_column(("ID",), LongType()).commit()
    assert "is up" not in str(caught.value)
    assert locks(lake) == []
