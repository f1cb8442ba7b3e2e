"""The tables of a slice: what each takes, and what becomes of one that refuses."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pyiceberg.exceptions import UnauthorizedError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogLoginRefused, TableMissing, TableUnsuitable
from floe.kafka.settings import KafkaSettings
from floe.model.ledger import Ledger
from floe.model.ledger_codec import write_properties
from floe.model.offsets import Intervals
from floe.model.plan import Plan
from floe.model.positions import PartitionBacklog
from floe.tables.exceptions import TableRefused
from floe.tables.lake import Lake as ConnectorLake
from floe_job.driver import table_lookup
from floe_job.driver.job import SliceJob
from floe_job.driver.slice_tables import SliceTable, SliceTables, new_target
from floe_job.driver.table_lookup import MAX_LOOKED_UP, TableLookup
from floe_job.schema.proposal import ColumnRules
from tests.support.tables.lake import CLUSTER, LEDGER, OTHER_TABLE, ROUTE, TABLE, TOPIC, Lake
from tests.support.tables.slices import make_plan, write_rows, write_slice

BOTH = (TABLE, OTHER_TABLE)
OWED = {TABLE: PartitionBacklog(1, ROUTE)}


@pytest.fixture
def lake(lake: Lake) -> Lake:
    """Give a lake with both tables."""
    for name in BOTH:
        lake.create(name=name)
    return lake


@pytest.fixture
def load(lake: Lake) -> Callable[..., list[SliceTable]]:
    """Load the tables of a plan's only slice."""

    def make(plan: Plan, **keys: str) -> list[SliceTable]:
        job = slice_job(lake, plan, **keys)
        return list(TableLookup(job, opened_by(lake, job)).open(()).by_name.values())

    return make


def slice_job(lake: Lake, plan: Plan, **keys: str) -> SliceJob:
    """Return the job of a plan's only slice, for both tables."""
    connector = lake.connector(**{"iceberg.tables": ",".join(BOTH), **keys})
    return SliceJob(plan, plan.slices[0], connector, KafkaSettings.of(connector, {"bootstrap.servers": "127.0.0.1:1"}))


def opened_by(lake: Lake, job: SliceJob) -> ConnectorLake:
    return replace(lake.opened(), connector=job.connector)


def new_ranges(table: SliceTable) -> list[tuple[str, tuple[tuple[int, int], ...]]]:
    return [(str(r), new.spans) for r, new in table.new_offsets]


def test_each_table_lacks_what_its_own_ledger_says(lake: Lake, load: Callable[..., list[SliceTable]]) -> None:
    write_slice(lake, (0, 0, 5)).land()
    first, second = load(make_plan((0, 3, 9), tables=BOTH))
    assert new_ranges(first) == [(f"{TOPIC}-0[3, 9)", ((5, 9),))]
    assert new_ranges(second) == [(f"{TOPIC}-0[3, 9)", ((3, 9),))]


def test_worker_gets_written_offsets_and_no_snapshots(lake: Lake, load: Callable[..., list[SliceTable]]) -> None:
    write_slice(lake, (0, 0, 5)).land()
    plan = make_plan((0, 3, 9), (1, 0, 4), tables=BOTH)
    first, second = (t.target(slice_job(lake, plan)) for t in load(plan))
    assert first.held == {plan.slices[0].ranges[0]: Intervals(((3, 5),))}
    assert (second.held, first.backlog, second.backlog) == ({}, frozenset(), frozenset())
    assert first.metadata is not None
    assert (first.metadata.snapshots, first.metadata.refs) == ([], {})


def test_a_table_takes_nothing_live_of_a_partition_that_it_owes(
    lake: Lake, load: Callable[..., list[SliceTable]]
) -> None:
    plan = make_plan((0, 3, 9), tables=BOTH, backlogs=OWED)
    first, second = load(plan)
    assert new_ranges(first) == []
    assert first.target(slice_job(lake, plan)).backlog == frozenset(plan.slices[0].ranges)
    assert second.target(slice_job(lake, plan)).backlog == frozenset()
    assert first.problem is None


def test_a_catch_up_slice_takes_what_the_table_owes(load: Callable[..., list[SliceTable]]) -> None:
    plan = replace(make_plan((0, 3, 9), tables=(TABLE,), backlogs=OWED, kind="catch-up"))
    (only,) = load(plan)
    assert new_ranges(only) == [(f"{TOPIC}-0[3, 9)", ((3, 9),))]


def test_append_replay_takes_all_again_and_skip_replay_the_rest(
    lake: Lake, load: Callable[..., list[SliceTable]]
) -> None:
    write_slice(lake, (0, 0, 5)).land()
    (append,) = load(make_plan((0, 3, 9), kind="append"))
    (skip,) = load(make_plan((0, 3, 9), kind="skip"))
    assert new_ranges(append) == [(f"{TOPIC}-0[3, 9)", ((3, 9),))]
    assert new_ranges(skip) == [(f"{TOPIC}-0[3, 9)", ((5, 9),))]


def test_refusing_table_takes_nothing_and_other_is_read_for(
    lake: Lake, load: Callable[..., list[SliceTable]], caplog: pytest.LogCaptureFixture
) -> None:
    lake.catalog().drop_table(OTHER_TABLE)
    lake.create(properties=write_properties(LEDGER, Ledger("C0")), name=OTHER_TABLE)
    plan = make_plan((0, 3, 9), tables=BOTH)
    first, second = load(plan)
    assert new_ranges(first) == [(f"{TOPIC}-0[3, 9)", ((3, 9),))]
    assert isinstance(second.problem, TableRefused)
    assert second.target(slice_job(lake, plan)).backlog == frozenset(plan.slices[0].ranges)
    assert "cannot take these rows" in caplog.text
    assert CLUSTER == "C1"


UNWRITABLE = {
    "write.parquet.compression-codec": "evil",
    "write.parquet.compression-level": "fast",
    "write.parquet.page-size-bytes": "9" * 30,
    "write.parquet.page-row-limit": "0",
    "write.parquet.row-group-limit": "-7",
    "write.target-file-size-bytes": "1e9",
    "write.format.default": "orc",
    "write.metadata.metrics.default": "truncate(0)",
    "schema.name-mapping.default": "{",
}


@pytest.mark.parametrize("key", UNWRITABLE)
def test_unwritable_table_refuses_and_the_other_goes_on(
    lake: Lake, load: Callable[..., list[SliceTable]], key: str
) -> None:
    lake.catalog().drop_table(OTHER_TABLE)
    lake.create(properties={key: UNWRITABLE[key]}, name=OTHER_TABLE)
    first, second = load(make_plan((0, 3, 9), tables=BOTH))
    assert new_ranges(first) == [(f"{TOPIC}-0[3, 9)", ((3, 9),))] and first.problem is None
    assert isinstance(second.problem, TableUnsuitable) and not second.new_offsets
    assert str(second.problem).startswith(f"table {OTHER_TABLE!r} cannot be written: ")


def test_table_with_columns_of_one_name_in_files_refuses(lake: Lake, load: Callable[..., list[SliceTable]]) -> None:
    lake.catalog().drop_table(OTHER_TABLE)
    fields = [NestedField(i, name, LongType(), required=False) for i, name in enumerate(("a.b", "a_x2Eb"), 1)]
    lake.create(schema=Schema(*fields), name=OTHER_TABLE)
    _, second = load(make_plan((0, 3, 9), tables=BOTH))
    with pytest.raises(TableUnsuitable, match=r"cannot be written: .*rename one of them"):
        raise second.problem or AssertionError


@pytest.mark.parametrize("missing", BOTH)
def test_missing_table_refuses_unless_floe_may_create_it(
    lake: Lake, load: Callable[..., list[SliceTable]], missing: str
) -> None:
    lake.catalog().drop_table(missing)
    plan = make_plan((0, 3, 9), tables=BOTH)
    refused = {t.name: t.problem for t in load(plan)}
    assert [name for name, refusal in refused.items() if refusal is not None] == [missing]
    assert isinstance(refused[missing], TableMissing)
    created = load(plan, **{"iceberg.tables.auto-create-enabled": "true"})
    assert [t.problem for t in created] == [None, None]
    assert all(t.new_offsets for t in created)


def test_when_no_table_is_left_to_read_for_the_refusal_is_raised(
    lake: Lake, load: Callable[..., list[SliceTable]]
) -> None:
    for name in BOTH:
        lake.catalog().drop_table(name)
    with pytest.raises(TableMissing):
        load(make_plan((0, 3, 9), tables=BOTH))


def test_nothing_is_read_when_only_table_up_to_date_refuses(lake: Lake, load: Callable[..., list[SliceTable]]) -> None:
    lake.catalog().drop_table(OTHER_TABLE)
    with pytest.raises(TableMissing):
        load(make_plan((0, 3, 9), tables=BOTH, backlogs=OWED))


def test_a_table_that_still_refuses_to_catch_up_is_not_read_for(
    lake: Lake, load: Callable[..., list[SliceTable]]
) -> None:
    lake.catalog().drop_table(TABLE)
    with pytest.raises(TableMissing):
        load(make_plan((0, 3, 9), backlogs=OWED, kind="catch-up"))


def test_only_tables_with_files_have_shares_grouped_by_spec(lake: Lake, load: Callable[..., list[SliceTable]]) -> None:
    plan = make_plan((0, 3, 9), tables=BOTH)
    first, second = load(plan)
    table = lake.load()
    written = [write_rows(table, [(0, offset)]) for offset in (3, 4)]
    table_files = first.written(lake.connector(), written)
    assert table_files is not None
    assert (table_files.file_count, len(table_files.files), table_files.new_ranges, table_files.routes) == (
        2,
        1,
        first.new_offsets,
        {TOPIC: ROUTE},
    )
    assert second.written(lake.connector(), []) is None


# -- tables that records name -----------------------------------------------------------------------------------------


def discovered(lake: Lake, names: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[SliceTables, list[str]]:
    """Look up names as records bring them; return the tables, and the names that the catalog was asked for one by one."""
    keys = {"iceberg.tables": "", "iceberg.tables.dynamic-enabled": "true", "iceberg.tables.route-field": "target"}
    job = slice_job(lake, make_plan((0, 0, 9), tables=()), **keys, **{"iceberg.tables.auto-create-enabled": "true"})
    opened, asked = opened_by(lake, job), list[str]()
    catalog = opened.client.catalog
    load = catalog.load_table

    def loaded(name: str) -> object:
        asked.append(name)
        return load(name)

    monkeypatch.setattr(catalog, "load_table", loaded)
    lookup = TableLookup(job, opened)
    return lookup.discover(lookup.open(()), names), asked


def test_twenty_thousand_names_are_not_looked_up_each(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{'rpc' if i % 2 else f'n{i}'}.t{i}" for i in range(20_000)]
    tables, asked = discovered(lake, [*names, *BOTH], monkeypatch)
    assert len(asked) <= MAX_LOOKED_UP + len(BOTH)
    assert {name for name, table in tables.by_name.items() if table.table is not None} == set(BOTH)
    assert sum(table.table is None for table in tables.by_name.values()) == 100


BY_RECORD = {
    "iceberg.tables": "",
    "iceberg.tables.dynamic-enabled": "true",
    "iceberg.tables.route-field": "target",
    "iceberg.tables.auto-create-enabled": "true",
}


def named_by_records(lake: Lake, plan: Plan, **keys: str) -> tuple[SliceTable, SliceTable]:
    """Return the two tables as records find them."""
    job = slice_job(lake, plan, **BY_RECORD, **keys)
    found = TableLookup(job, opened_by(lake, job)).discover(SliceTables(), BOTH).by_name
    return found[TABLE], found[OTHER_TABLE]


def make_unwritable(lake: Lake) -> None:
    lake.catalog().drop_table(OTHER_TABLE)
    lake.create(properties={"write.format.default": "orc"}, name=OTHER_TABLE)


def test_refusing_table_of_records_gets_dead_letters(lake: Lake) -> None:
    make_unwritable(lake)
    plan = make_plan((0, 3, 9), tables=())
    first, second = named_by_records(lake, plan)
    assert (first.is_for_dead_letters, second.is_for_dead_letters) == (False, True)
    target = second.target(slice_job(lake, plan, **BY_RECORD))
    assert (target.backlog, target.held) == (frozenset(), {})
    assert target.refusal is not None
    assert target.refusal.startswith(f"table {OTHER_TABLE!r} takes no rows: ")
    assert target.refusal.endswith("; fix the table, then trigger the replay DAG with dead_letters")


@pytest.mark.parametrize("kind", ["catch-up", "skip"])
def test_refusing_table_gets_dead_letters_in_live_runs_only(lake: Lake, kind: str) -> None:
    make_unwritable(lake)
    job = slice_job(lake, make_plan((0, 3, 9), tables=(OTHER_TABLE,), kind=kind), **BY_RECORD)
    assert not job.gives_dead_letters_for(OTHER_TABLE)


def test_refusing_table_with_own_settings_is_behind(lake: Lake) -> None:
    make_unwritable(lake)
    _, second = named_by_records(
        lake, make_plan((0, 3, 9), tables=()), **{f"iceberg.table.{OTHER_TABLE}.id-columns": "id"}
    )
    assert second.problem is not None
    assert second.new_offsets == ()


@pytest.mark.parametrize(("start", "end", "is_behind"), [(8, 20, True), (9, 20, False), (0, 3, False), (0, 4, True)])
def test_unknown_ledger_is_judged_by_what_was_announced(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, start: int, end: int, is_behind: bool
) -> None:
    lake.catalog().drop_table(OTHER_TABLE)
    lake.create(properties=write_properties(LEDGER, Ledger("C0")), name=OTHER_TABLE)
    plan = make_plan((0, 3, 9), tables=())
    (r,) = plan.slices[0].ranges
    announced = {OTHER_TABLE: {replace(r, start=start, end=end)}}
    monkeypatch.setattr(table_lookup, "announced_ranges", lambda *_: announced)
    monkeypatch.setattr(table_lookup, "control_ends", lambda *_: {})
    _, second = named_by_records(lake, plan)
    assert isinstance(second.problem, TableRefused)
    assert second.is_for_dead_letters != is_behind


def test_refused_login_is_no_refusal_of_a_table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> None:
        raise UnauthorizedError

    monkeypatch.setattr(type(lake.catalog()), "load_table", denied)
    with pytest.raises(CatalogLoginRefused, match="not allowed to load table"):
        named_by_records(lake, make_plan((0, 3, 9), tables=()))


def test_few_names_are_looked_up_by_themselves(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CatalogClient, "listed", None)
    tables, asked = discovered(lake, ["rpc.other", *BOTH], monkeypatch)
    assert sorted(asked) == sorted(["rpc.other", *BOTH])
    assert sorted(tables.by_name) == sorted(["rpc.other", *BOTH])


def test_target_has_the_connectors_rules_for_columns(lake: Lake) -> None:
    names = ("iceberg.tables.evolve-schema-enabled", "iceberg.tables.schema-force-optional", "floe.debezium.types")
    keys = dict.fromkeys(names, "true")
    assert new_target(TABLE, lake.connector()).rules == ColumnRules()
    assert new_target(TABLE, lake.connector(**keys)).rules == ColumnRules(
        evolve=True, force_optional=True, debezium_types=True
    )
