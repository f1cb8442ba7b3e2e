"""Catalogs and tables, on a real SQL catalog; and catalogs that do not answer."""

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.exceptions import CommitFailedException, ForbiddenError, UnauthorizedError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType, TimestampType

from floe.catalogs.client import CatalogClient
from floe.catalogs.errors import CatalogErrors
from floe.catalogs.exceptions import CatalogMisconfigured, CatalogUnreachable, TableMissing, TableUnsuitable
from floe.config import Connector, Properties
from floe.config.sections.catalog import CatalogSpec
from floe.exceptions import Terminal

SCHEMA = Schema(
    NestedField(1, "order_id", LongType(), required=False),
    NestedField(2, "sauce", StringType(), required=False),
    NestedField(3, "date_ordered", TimestampType(), required=False),
)


@pytest.fixture
def closed_port() -> int:
    """Find a port that no process listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


# -- tables -----------------------------------------------------------------------------------------------------------


def test_a_table_is_created_with_its_namespace_and_loaded_again(tables: Callable[..., CatalogClient]) -> None:
    created = tables().create("rpc.pizzas", SCHEMA)
    loaded = tables().load("rpc.pizzas")
    assert loaded is not None
    assert loaded.metadata.table_uuid == created.metadata.table_uuid
    assert [field.name for field in loaded.schema().fields] == ["order_id", "sauce", "date_ordered"]
    assert tables().require("rpc.pizzas").name() == ("rpc", "pizzas")


def test_namespaces_are_created_from_the_outside_in(tables: Callable[..., CatalogClient]) -> None:
    opened = tables()
    opened.create("a.b.c.pizzas", SCHEMA)
    assert [opened.catalog.namespace_exists(name) for name in ("a", "a.b", "a.b.c")] == [True, True, True]
    opened.create("a.b.toppings", SCHEMA)
    assert opened.load("a.b.toppings") is not None


def test_new_tables_merge_manifests_unless_configured_otherwise(tables: Callable[..., CatalogClient]) -> None:
    assert tables().create("rpc.pizzas", SCHEMA).properties["commit.manifest-merge.enabled"] == "true"
    over = {
        "iceberg__tables__auto-create-props__commit.manifest-merge.enabled": "false",
        "iceberg__tables__auto-create-props__owner": "me",
    }
    created = tables(**over).create("rpc.others", SCHEMA)
    assert (created.properties["commit.manifest-merge.enabled"], created.properties["owner"]) == ("false", "me")


def test_new_tables_expire_snapshots_unless_configured_otherwise(
    tables: Callable[..., CatalogClient],
) -> None:
    shipped = tables().create("rpc.pizzas", SCHEMA).properties
    assert dict(shipped) == {
        "commit.manifest-merge.enabled": "true",
        "floe.expire.max-snapshots": "100",
        "history.expire.max-snapshot-age-ms": "432000000",
        "history.expire.min-snapshots-to-keep": "20",
        "write.metadata.delete-after-commit.enabled": "true",
    }
    over = {
        "iceberg__tables__auto-create-props__floe.expire.max-snapshots": "0",
        "iceberg__tables__auto-create-props__history.expire.max-snapshot-age-ms": "1000",
    }
    created = tables(**over).create("rpc.others", SCHEMA).properties
    assert created["floe.expire.max-snapshots"] == "0"
    assert created["history.expire.max-snapshot-age-ms"] == "1000"
    assert created["history.expire.min-snapshots-to-keep"] == "20"


def test_new_tables_are_partitioned_as_the_connector_says(tables: Callable[..., CatalogClient]) -> None:
    over = {"iceberg__tables__default-partition-by": "day(date_ordered),bucket(order_id, 8)"}
    created = tables(**over).create("rpc.pizzas", SCHEMA)
    fields = [(f.name, str(f.transform), f.field_id) for f in created.spec().fields]
    assert fields == [("date_ordered_day", "day", 1000), ("order_id_bucket", "bucket[8]", 1001)]


def test_a_table_that_is_there_already_is_taken_as_it_is(tables: Callable[..., CatalogClient]) -> None:
    theirs = tables().create("rpc.pizzas", Schema(NestedField(1, "theirs", LongType(), required=False)))
    ours = tables().create("rpc.pizzas", SCHEMA)
    assert ours.metadata.table_uuid == theirs.metadata.table_uuid
    assert [field.name for field in ours.schema().fields] == ["theirs"]


def test_table_created_by_others_meanwhile_is_used_as_is(
    tables: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, rival = tables(), tables()
    create_namespace = opened.catalog.create_namespace

    def beaten(namespace: str) -> None:
        rival.create("rpc.pizzas", SCHEMA)
        create_namespace(namespace)

    monkeypatch.setattr(opened.catalog, "create_namespace", beaten)
    created = opened.create("rpc.pizzas", SCHEMA)
    assert created.metadata.table_uuid == rival.require("rpc.pizzas").metadata.table_uuid


def test_missing_table_is_none_or_an_error_with_advice(tables: Callable[..., CatalogClient]) -> None:
    opened = tables()
    assert opened.load("rpc.pizzas") is None
    opened.catalog.create_namespace("rpc")
    assert opened.load("rpc.pizzas") is None
    with pytest.raises(
        TableMissing, match=r"'rpc\.pizzas' does not exist in catalog 'lake'.*auto-create-enabled"
    ) as caught:
        opened.require("rpc.pizzas")
    assert isinstance(caught.value, Terminal)


def test_an_unsuitable_partitioning_creates_nothing(tables: Callable[..., CatalogClient]) -> None:
    opened = tables(**{"iceberg__tables__default-partition-by": "day(sauce)"})
    with pytest.raises(TableUnsuitable):
        opened.create("rpc.pizzas", SCHEMA)
    assert not opened.catalog.namespace_exists("rpc")


# -- catalogs ---------------------------------------------------------------------------------------------------------


def test_sqlite_in_a_missing_folder_is_final_and_names_uri(connector: Callable[..., Connector]) -> None:
    with pytest.raises(CatalogMisconfigured, match=r"'lake'.*'sqlite:////nowhere/at/all/catalog\.db'") as caught:
        CatalogClient.of(connector(**{"iceberg__catalog__uri": "sqlite:////nowhere/at/all/catalog.db"}))
    assert isinstance(caught.value, Terminal)


def test_a_closed_port_is_unreachable_by_name(connector: Callable[..., Connector], closed_port: int) -> None:
    address = f"http://127.0.0.1:{closed_port}"
    over = {"iceberg__catalog__type": "rest", "iceberg__catalog__uri": address}
    with pytest.raises(CatalogUnreachable) as caught:
        CatalogClient.of(connector(**over))
    assert str(caught.value).startswith(
        f"could not open catalog 'lake': Connection refused. Check that catalog 'lake' is up at {address}."
    )


def test_a_catalog_that_goes_away_is_unreachable_by_name(tables: Callable[..., CatalogClient], tmp_path: Path) -> None:
    opened = tables()
    opened.catalog.destroy_tables()
    with pytest.raises(CatalogUnreachable, match=r"could not load table 'rpc\.pizzas'.*'lake'"):
        opened.load("rpc.pizzas")
    with pytest.raises(CatalogUnreachable, match=r"could not create table 'rpc\.pizzas'"):
        opened.create("rpc.pizzas", SCHEMA)


@pytest.mark.parametrize(
    "props",
    [
        pytest.param({"type": "parchment"}, id="an unknown type"),
        pytest.param({"type": "sql"}, id="no address"),
        pytest.param({"type": "rest", "uri": "no address at all"}, id="an address that is none"),
        pytest.param({"py-catalog-impl": "no.such.Catalog"}, id="an unknown class"),
    ],
)
def test_a_catalog_that_cannot_be_opened_says_where_to_look(
    connector: Callable[..., Connector], props: dict[str, str]
) -> None:
    spec = CatalogSpec(props.get("type", ""), "lake", Properties(props))
    misconfigured = replace(connector(), catalog=spec)
    with pytest.raises(
        CatalogMisconfigured, match=r"'lake' cannot be opened.*iceberg\.catalog.*PYICEBERG_CATALOG__LAKE"
    ) as e:
        CatalogClient.of(misconfigured)
    assert isinstance(e.value, Terminal)


@pytest.mark.parametrize(
    ("raised", "expected", "text"),
    [
        (UnauthorizedError("401"), CatalogMisconfigured, "not allowed to change table 't'.*credentials"),
        (ForbiddenError("403"), CatalogMisconfigured, "not allowed to change table 't'.*grants"),
        (PermissionError("warehouse"), CatalogMisconfigured, "writable"),
        (OSError("disk full"), CatalogUnreachable, "OSError: disk full"),
        (RuntimeError("first line\nsecond"), CatalogUnreachable, r"RuntimeError: first line\. "),
        (RuntimeError(), CatalogUnreachable, "RuntimeError"),
    ],
)
def test_errors_of_stores_become_floes_own(
    tables: Callable[..., CatalogClient], raised: Exception, expected: type[Exception], text: str
) -> None:
    with pytest.raises(expected, match=text), tables().changing("t"):
        raise raised


@pytest.mark.parametrize("passed", [CommitFailedException("409"), TableMissing("gone")])
def test_conflicts_and_floes_own_errors_pass(tables: Callable[..., CatalogClient], passed: Exception) -> None:
    with pytest.raises(type(passed)) as caught, tables().changing("t"):
        raise passed
    assert caught.value is passed


# -- listing ----------------------------------------------------------------------------------------------------------


class Listing:
    """Counts what a catalog is asked for."""

    def __init__(self, opened: CatalogClient, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[object] = []
        for name in ("list_tables", "list_namespaces", "load_table"):
            monkeypatch.setattr(opened.catalog, name, self._counted(getattr(opened.catalog, name)))

    def _counted(self, function: Callable[..., object]) -> Callable[..., object]:
        def counted(of: object = ()) -> object:
            self.calls.append(of)
            return function(of)

        return counted


def test_listed_takes_one_call_per_namespace(
    tables: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = tables()
    for name in ("a.t1", "a.t2", "b.c.t1"):
        opened.create(name, SCHEMA)
    asked = [
        f"{namespace}.t{i}" for namespace in ("a", "b.c", "b.d", *(f"n{j}" for j in range(200))) for i in range(20)
    ]
    listing = Listing(opened, monkeypatch)
    assert opened.listed(asked) == {"a.t1", "a.t2", "b.c.t1"}
    assert len(listing.calls) <= 6


def test_listed_is_none_where_listing_is_not_permitted(
    tables: Callable[..., CatalogClient], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    opened = tables()

    def refuse(*_: object) -> None:
        msg = "no list for you"
        raise ForbiddenError(msg)

    monkeypatch.setattr(opened.catalog, "list_namespaces", refuse)
    assert opened.listed(["a.t1"]) is None
    assert "no list for you" in caplog.text


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            RuntimeError('(psycopg.OperationalError) connection to server at "db", port 5432 failed: Connection refused'),
            "could not open it: Connection refused.",
        ),
        (TimeoutError("Read timed out. (read timeout=300.0)"), "could not open it: no answer within 300 s (timed out)."),
    ],
)  # fmt: skip
def test_unreachable_catalog_names_the_system_error(error: Exception, reason: str) -> None:
    with pytest.raises(CatalogUnreachable) as caught, CatalogErrors("pg", lambda: "").during("open it"):
        raise error
    assert str(caught.value).startswith(f"{reason} Check that catalog 'pg' is up.")
