"""What every type of catalog has to do, on a real one of each: all of ``TYPES``, and those of extensions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.update.schema import UpdateSchema
from pyiceberg.types import StringType

from floe.catalogs.client import CatalogClient
from floe.catalogs.errors import Answer
from floe.catalogs.exceptions import CatalogUnreachable, TableMissing
from floe.catalogs.providers.base import CatalogProvider
from floe.catalogs.providers.catalog_providers import provider_named, provider_of
from floe.config.catalogs.catalog_types import TYPES
from floe.model.holding import Holding, LogId
from floe.model.ledger import Ledger
from floe.model.ledger_codec import read_properties
from floe.model.offsets import Intervals
from floe.status.catalog_probe import probe_catalog
from floe.tables.change import append_files
from floe.tables.exceptions import TableRefused
from floe.tables.snapshot_commit import append
from tests.support.catalogs import CatalogLake, RestLake
from tests.support.contracts import CatalogCase, added_cases
from tests.support.extensions import installed_example, listed_example
from tests.support.fixtures import short_waits
from tests.support.metastores.lakes import SERVERS, make_lake
from tests.support.metastores.nessie import NessieLake
from tests.support.tables.lake import CLUSTER, LEDGER, ROUTE, SCHEMA, TABLE, TOPIC, TOPIC_ID, expected, head
from tests.support.tables.slices import write_slice

ADDED: dict[str, CatalogCase] = added_cases("CATALOGS")
KINDS = [
    pytest.param(kind, marks=SERVERS[kind][0] if kind in SERVERS else [])
    for kind in dict.fromkeys((*TYPES.own, *SERVERS, *ADDED))
]

MANY_KINDS = [
    pytest.param(kind, marks=pytest.mark.ci if kind in ("sql", "rest") else pytest.mark.full)
    for kind in dict.fromkeys((*TYPES.own, *SERVERS))
    if kind != "rest-strict"  # its tables are those of the server behind it
]
PAGED = ("rest", "nessie")

__all__ = ["installed_example", "listed_example", "short_waits"]


@pytest.fixture(params=KINDS)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogLake]:
    if request.param in ADDED:
        request.getfixturevalue("listed_example")
        made = ADDED[request.param].make(tmp_path)
    else:
        made = make_lake(request.param, tmp_path, request.getfixturevalue)
    yield made
    made.close()


@pytest.fixture
def provider(lake: CatalogLake) -> CatalogProvider:
    return provider_named(lake.kind)


def ledger_to(end: int, partition: int = 0) -> Ledger:
    return Ledger(CLUSTER, {LogId(TOPIC, TOPIC_ID, partition): Holding({ROUTE: Intervals.of([(0, end)])})})


def long_ledger() -> Ledger:
    spans = Intervals.of([(i * 1_000_003 % 99_999_989 * 10, i * 1_000_003 % 99_999_989 * 10 + 7) for i in range(2_000)])
    return Ledger(CLUSTER, {LogId(TOPIC, TOPIC_ID, 0): Holding({ROUTE: spans})})


def held(table: Table) -> Ledger:
    found = read_properties(LEDGER, table.properties)
    assert found is not None
    return replace(found, anchor=None)


# -- namespaces, tables, schemas ----------------------------------------------------------------------------------------


def test_table_is_created_with_its_namespaces(lake: CatalogLake) -> None:
    client = lake.tables()
    name = "outer.inner.t" if lake.has_nested_namespaces else "outer.t"
    made = client.create(name, SCHEMA)
    again = lake.tables().create(name, SCHEMA)
    assert made.metadata.table_uuid == again.metadata.table_uuid
    assert lake.tables().require(name).schema() == made.schema()
    lake.catalog().drop_table(name)


def test_missing_table_and_namespace_are_none(lake: CatalogLake) -> None:
    lake.create()
    assert [lake.tables().load(name) for name in ("rpc.none", "nowhere.none")] == [None, None]
    with pytest.raises(TableMissing):
        lake.tables().require("rpc.none")


def test_catalog_is_opened_by_its_provider(lake: CatalogLake, provider: CatalogProvider) -> None:
    assert provider_of(lake.create()) is provider
    assert provider.has_atomic_commit


def test_added_column_is_seen_by_every_client(lake: CatalogLake) -> None:
    table = lake.create()
    other = lake.load()
    with lake.tables().changing(TABLE), table.update_schema() as update:
        update.add_column("size", StringType())
    other.refresh()
    assert other.schema().find_field("size").field_type == StringType()
    assert lake.load().schema().column_names == [*SCHEMA.column_names, "size"]


class OneMore:
    """A column that records have and the table lacks."""

    def count(self) -> int:
        return 1

    def new_schema(self) -> Schema:
        return SCHEMA

    def apply(self, update: UpdateSchema) -> None:
        update.add_column("size", StringType())


def test_lake_creates_evolves_and_commits(lake: CatalogLake) -> None:
    opened = lake.opened()
    new = opened.state(TABLE, [TOPIC])
    assert new.is_new
    created = opened.evolve(new, OneMore())
    assert created.checked().required().schema().column_names == SCHEMA.column_names
    evolved = opened.evolve(opened.state(TABLE), OneMore()).checked().required()
    assert evolved.schema().column_names == [*SCHEMA.column_names, "size"]
    committed = opened.commit(evolved, append_files(evolved, "main", {"floe.kind": "live"}, ()), ledger_to(5))
    state = lake.opened().state(TABLE, uuid={TABLE: evolved.metadata.table_uuid})
    assert committed.snapshot_id == head(lake)
    assert replace(state.ledger, anchor=None) == ledger_to(5)
    with pytest.raises(CommitFailedException):
        opened.commit(evolved, append_files(evolved, "main", {}, ()), ledger_to(9))


def test_tables_of_a_namespace_are_listed(lake: CatalogLake) -> None:
    client = lake.tables()
    names = [f"rpc.t{i}" for i in range(12)]
    for name in (*names, "other.t0"):
        client.create(name, Schema())
    assert sorted(client.names("rpc")) == sorted(names)
    assert {*names, "other.t0"} <= set(client.names())
    assert client.names("nowhere") == []
    assert client.listed([*names, "rpc.none", "nowhere.t0"]) == set(names)


@pytest.mark.parametrize("lake", MANY_KINDS, indirect=True)
def test_a_thousand_tables_are_listed(lake: CatalogLake) -> None:
    lake.create()
    names = [f"rpc.t{number}" for number in range(999)]
    lake.fill(names)
    assert sorted(lake.tables().names("rpc")) == sorted([*names, TABLE])
    assert lake.tables().listed([*names, "rpc.none"]) == set(names)


@pytest.mark.parametrize("lake", [pytest.param(one, marks=SERVERS[one][0]) for one in PAGED], indirect=True)
def test_tables_are_listed_page_by_page(lake: RestLake | NessieLake) -> None:
    lake.create()
    names = [f"rpc.t{number}" for number in range(24)]
    lake.fill(names)
    client = CatalogClient.of(lake.connector(**{"iceberg.catalog.rest-page-size": "10"}))
    assert sorted(client.names("rpc")) == sorted([*names, TABLE])
    assert client.listed(names) == set(names)
    client.catalog.close()
    assert sum("/tables?pageSize=10" in one or "pageToken=" in one for one in lake.proxy.asked) >= 6


# -- what was sent is what is read back ---------------------------------------------------------------------------------


def test_commit_is_read_back_as_it_was_sent(lake: CatalogLake) -> None:
    table = lake.create()
    summary = {"floe.kind": "live", "floe.net": "x" * 3_900}
    snapshot_id = append(table, "main", (), summary, LEDGER, ledger_to(5))
    read = lake.load()
    assert read.metadata.current_snapshot_id == snapshot_id == head(lake)
    assert held(read) == ledger_to(5)
    snapshot = read.metadata.snapshot_by_id(snapshot_id)
    assert snapshot is not None
    assert snapshot.summary is not None
    assert summary.items() <= snapshot.summary.additional_properties.items()


def test_long_ledger_is_kept_whole(lake: CatalogLake, provider: CatalogProvider) -> None:
    append(lake.create(), "main", (), {}, LEDGER, long_ledger())
    read = lake.load()
    assert held(read) == long_ledger()
    assert max(map(len, read.properties.values())) <= provider.max_property_length
    append(read, "main", (), {}, LEDGER, ledger_to(5))
    assert [name for name in lake.load().properties if name.startswith(LEDGER)] == [LEDGER]


def test_longest_property_is_kept_whole(lake: CatalogLake, provider: CatalogProvider) -> None:
    table = lake.create()
    with table.transaction() as transaction:
        transaction.set_properties({"longest": "ö" * provider.max_property_length})
    assert lake.load().properties["longest"] == "ö" * provider.max_property_length


def test_probe_finds_nothing_and_leaves_nothing(lake: CatalogLake) -> None:
    table = lake.create()
    assert probe_catalog(lake.tables(), "rpc") == []
    assert lake.tables().names("rpc") == [TABLE]
    folder = Path(urlsplit(table.location()).path).parent
    left = [
        one for one in folder.rglob("*floe_probe*/**/*") if one.is_file() and one.suffix != ".crc"
    ]  # of Hadoop's client
    assert left == []


# -- commits that meet others --------------------------------------------------------------------------------------------


def test_second_of_two_commits_to_one_head_is_a_conflict(lake: CatalogLake) -> None:
    lake.create()
    first, second = lake.load(), lake.load()
    append(first, "main", (), {}, LEDGER, ledger_to(5))
    with pytest.raises(CommitFailedException), lake.tables().committing(TABLE):
        append(second, "main", (), {}, LEDGER, ledger_to(9))
    assert held(lake.load()) == ledger_to(5)
    assert len(lake.load().metadata.snapshots) == 1


def test_conflict_is_classified_as_one(provider: CatalogProvider) -> None:
    assert provider.classify(CommitFailedException("x"), was_sent=True) is Answer.CONFLICT


def test_two_committers_at_once_lose_no_commit(lake: CatalogLake) -> None:
    lake.create()
    slices = [
        write_slice(lake, (partition, start, start + 5), plan_id=f"plan-{partition}-{start}")
        for partition in (0, 1)
        for start in (0, 5, 10)
    ]
    with ThreadPoolExecutor(2) as threads:
        by_partition = (slices[:3], slices[3:])
        for done in [threads.submit(lambda own: [one.land() for one in own], own) for own in by_partition]:
            assert [committed.already for committed in done.result()] == [False] * 3
    assert lake.rows() == expected((0, 15)) + expected((0, 15), partition=1)
    assert lake.load().metadata.last_sequence_number == 6


def test_lost_answer_is_unknown_and_the_commit_is_found(lake: CatalogLake) -> None:
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    client = lake.catalog()
    lake.lose_answer(client)
    assert written.land(client).already
    assert lake.rows() == expected((0, 5))
    assert len(lake.load().metadata.snapshots) == 1


@pytest.mark.parametrize(("lose", "committed"), [("lose_answer", 1), ("lose_request", 0)])
def test_commit_without_an_answer_is_unknown(lake: CatalogLake, lose: str, committed: int) -> None:
    lake.create()
    client = lake.catalog()
    table = client.load_table(TABLE)
    getattr(lake, lose)(client)
    with pytest.raises(CatalogUnreachable, match="outcome of a commit"), lake.tables(client).committing(TABLE):
        append(table, "main", (), {}, LEDGER, ledger_to(5))
    assert len(lake.load().metadata.snapshots) == committed


def test_lost_request_is_sent_again(lake: CatalogLake) -> None:
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    client = lake.catalog()
    lake.lose_request(client)
    assert not written.land(client).already
    assert lake.rows() == expected((0, 5))


def test_refused_commit_changes_nothing(lake: CatalogLake) -> None:
    table = lake.create()
    written = write_slice(lake, (0, 0, 5))
    client = lake.catalog()
    lake.refuse(client)
    with pytest.raises(TableRefused, match="not allowed to commit"):
        written.land(client)
    assert lake.load().metadata == table.metadata


# -- tables that are not the one that was written for --------------------------------------------------------------------


def _drop(lake: CatalogLake) -> None:
    lake.catalog().drop_table(TABLE)


def _replace(lake: CatalogLake) -> None:
    _drop(lake)
    lake.create()


@pytest.mark.parametrize(
    ("change", "expected_error"), [(_drop, "was dropped"), (_replace, "was replaced|another table")]
)
def test_slice_of_a_table_that_is_gone_is_refused(
    lake: CatalogLake, change: Callable[[CatalogLake], None], expected_error: str
) -> None:
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    change(lake)
    with pytest.raises(TableRefused, match=expected_error):
        written.land()
    assert change is _drop or lake.rows() == []


def test_commit_to_a_replaced_table_is_a_conflict(lake: CatalogLake) -> None:
    table = lake.create()
    _replace(lake)
    with pytest.raises(CommitFailedException), lake.tables().committing(TABLE):
        append(table, "main", (), {}, LEDGER, ledger_to(5))
    assert lake.load().metadata.snapshots == []


def test_commit_to_a_branch_leaves_main_alone(lake: CatalogLake, provider: CatalogProvider) -> None:
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    before = head(lake)
    if not provider.keeps_history:
        with pytest.raises(TableRefused, match="no branches"):
            append(lake.load(), "audit", (), {}, LEDGER, ledger_to(9))
        assert (head(lake), lake.rows()) == (before, expected((0, 5)))
        return
    write_slice(lake, (0, 5, 9), branch="audit", plan_id="plan-2").land()
    assert (head(lake), lake.rows()) == (before, expected((0, 5)))
    assert lake.rows("audit") == expected((0, 9))


def test_every_table_is_loaded_by_one_client(lake: CatalogLake) -> None:
    client: CatalogClient = lake.tables()
    for i in range(5):
        client.create(f"rpc.t{i}", SCHEMA)
    with ThreadPoolExecutor(5) as threads:
        loaded = list(threads.map(client.require, [f"rpc.t{i}" for i in range(5)]))
    assert [table.name()[-1] for table in loaded] == [f"t{i}" for i in range(5)]
