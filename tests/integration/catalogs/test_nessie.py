"""A real Nessie server: its addresses, what it lacks, and that nothing is lost by what it ignores."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.types import LongType

from floe.catalogs.client import CatalogClient
from floe.catalogs.exceptions import CatalogError, CatalogMisconfigured
from floe.model.ledger import Ledger
from floe.tables.exceptions import TableRefused
from floe.tables.history import HistoryState, check_table_history
from floe.tables.snapshot_commit import append
from floe.tables.table_state import branch_ledger
from tests.support.metastores.nessie import Nessie, NessieLake
from tests.support.tables.lake import CLUSTER, GROUP, LEDGER, TABLE, expected, head
from tests.support.tables.slices import write_slice

pytestmark = pytest.mark.full

ONE_ROW = pa.table(
    {"kafka_partition": pa.array([9], pa.int32()), "kafka_offset": pa.array([9], pa.int64()), "sauce": ["none"]}
)


@pytest.fixture
def lake(nessie: Nessie, tmp_path: Path) -> Iterator[NessieLake]:
    (tmp_path / "warehouse").mkdir()
    made = NessieLake(tmp_path, server=nessie)
    yield made
    made.close()


@pytest.mark.parametrize("path", ["/api/v1", "/api/v2", "/iceberg", "/iceberg/main/"])
def test_every_address_of_nessie_opens_the_catalog(lake: NessieLake, nessie: Nessie, path: str) -> None:
    lake.create()
    with_address = CatalogClient.of(lake.connector(**{"iceberg.catalog.uri": nessie.uri + path}))
    assert with_address.require(TABLE).metadata.table_uuid == lake.load().metadata.table_uuid


def test_warehouse_by_its_name_is_the_same(lake: NessieLake) -> None:
    lake.create()
    assert CatalogClient.of(lake.connector(**{"iceberg.catalog.warehouse": "wh"})).load(TABLE) is not None


@pytest.mark.parametrize(
    ("key", "value", "expected_error"),
    [
        ("warehouse", "s3://elsewhere/x", "Warehouse 's3://elsewhere/x' is not known"),
        ("ref", "nowhere", "'nowhere' not found"),
    ],
)
def test_unknown_place_is_refused_by_name(lake: NessieLake, key: str, value: str, expected_error: str) -> None:
    with pytest.raises(CatalogMisconfigured, match=expected_error):
        CatalogClient.of(lake.connector(**{f"iceberg.catalog.{key}": value})).load(TABLE)


def test_server_of_another_kind_is_refused(lake: NessieLake, nessie: Nessie) -> None:
    with pytest.raises(CatalogError, match="no Iceberg REST endpoint of Nessie"):
        CatalogClient.of(lake.connector(**{"iceberg.catalog.uri": f"{nessie.uri}/elsewhere/api/v1"}))


def test_nessie_without_a_warehouse_is_refused(tmp_path: Path, lake: NessieLake) -> None:
    bare = Nessie(tmp_path, has_warehouse=False)
    try:
        bare.start()
        with pytest.raises(CatalogMisconfigured, match=r"nessie\.catalog\.default-warehouse in Nessie"):
            CatalogClient.of(lake.connector(**{"iceberg.catalog.uri": f"{bare.uri}/api/v2"}))
    finally:
        bare.stop()


def test_second_first_snapshot_is_a_conflict(lake: NessieLake) -> None:
    """Nessie does not check that main is not there: the second snapshot would take the place of the first."""
    lake.create()
    stale, written = lake.load(), write_slice(lake, (0, 0, 5))
    written.land()
    with pytest.raises(CommitFailedException), lake.tables().committing(TABLE):
        append(stale, "main", (), {}, LEDGER, Ledger(CLUSTER))
    assert lake.rows() == expected((0, 5))


def test_column_is_added_with_rows_there(lake: NessieLake) -> None:
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    table = lake.load()
    with table.update_schema() as update:
        update.add_column("size", LongType())
    write_slice(lake, (0, 5, 9), plan_id="plan-2").land()
    assert lake.load().schema().find_field("size").field_id == 4
    assert lake.rows() == expected((0, 9))


def test_rows_of_another_process_are_no_rollback(lake: NessieLake) -> None:
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    lake.load().append(ONE_ROW)
    table = lake.load()
    ledger = branch_ledger(table, "main", GROUP, CLUSTER)
    assert check_table_history(table, "main", GROUP, ledger).finding is HistoryState.UNSEEN
    write_slice(lake, (0, 5, 9), plan_id="plan-2").land()
    assert not [row for row in expected((0, 9)) if lake.rows().count(row) != 1]


def test_slice_under_rows_of_another_is_landed(lake: NessieLake) -> None:
    """The ledger says that the slice is there, though its snapshot is not seen any more."""
    lake.create()
    written = write_slice(lake, (0, 0, 5))
    written.land()
    lake.load().append(ONE_ROW)
    assert written.land().already
    assert lake.rows() == sorted([*expected((0, 5)), (9, 9)])


def test_ledger_of_a_branch_is_refused(lake: NessieLake) -> None:
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    before = head(lake)
    with pytest.raises(TableRefused, match=r"iceberg\.catalog\.ref"):
        branch_ledger(lake.load(), "audit", GROUP, CLUSTER)
    assert head(lake) == before


def test_branch_of_nessie_is_written_alone(lake: NessieLake, nessie: Nessie) -> None:
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    with urllib.request.urlopen(f"{nessie.uri}/api/v2/trees/main", timeout=10) as answer:  # noqa: S310 - loopback
        reference = json.load(answer)["reference"]
    made = urllib.request.Request(  # noqa: S310 - loopback
        f"{nessie.uri}/api/v2/trees?name=etl/pizzas&type=BRANCH",
        json.dumps(reference).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(made, timeout=10).close()  # noqa: S310 - loopback
    on_branch = CatalogClient.of(lake.connector(**{"iceberg.catalog.ref": "etl/pizzas"}))
    table = on_branch.require(TABLE)
    append(table, "main", (), {"floe.kind": "x"}, LEDGER, branch_ledger(table, "main", GROUP, CLUSTER))
    assert on_branch.require(TABLE).metadata.current_snapshot_id != head(lake)
    assert lake.rows() == expected((0, 5))
