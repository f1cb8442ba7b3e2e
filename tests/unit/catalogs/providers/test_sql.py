"""floe's SQL catalog: what it commits is what PyIceberg's own would, and the same conflicts are found."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemovePropertiesUpdate,
    RemoveSnapshotRefUpdate,
    RemoveSnapshotsUpdate,
    SetPartitionStatisticsUpdate,
    SetPropertiesUpdate,
    SetSnapshotRefUpdate,
    TableUpdate,
    update_table_metadata,
)
from pyiceberg.types import LongType, NestedField

from floe.catalogs.client import CatalogClient, open_catalog
from floe.catalogs.providers.sql import catalog as sql_catalog
from floe.catalogs.providers.sql.catalog import CheckedSqlCatalog, merge_updated, relevant_part
from floe.config import Connector

NAME = "rpc.pizzas"
SCHEMA = Schema(NestedField(1, "kafka_offset", LongType(), required=False))
ROWS = pa.table({"kafka_offset": [1, 2]})


@dataclass
class Side:
    """The same catalog twice: by floe, and by PyIceberg alone."""

    ours: Catalog
    plain: Catalog

    def table(self, name: str = NAME) -> Table:
        return self.ours.load_table(name)


@pytest.fixture
def side(connector: Callable[..., Connector]) -> Iterator[Side]:
    """Make a table with five snapshots and a tag on the second."""
    made = connector()
    both = Side(open_catalog(made), load_catalog(made.catalog.name, **made.catalog.properties))
    both.ours.create_namespace("rpc")
    table = both.ours.create_table(NAME, SCHEMA)
    for _ in range(5):
        table.append(ROWS)
    table.manage_snapshots().create_tag(table.metadata.snapshots[1].snapshot_id, "v1").commit()
    yield both
    both.ours.close()
    both.plain.close()


def test_the_catalog_that_floe_opens_is_its_own(tables: Callable[..., CatalogClient]) -> None:
    catalog = tables().catalog
    assert isinstance(catalog, CheckedSqlCatalog)
    assert isinstance(catalog, SqlCatalog)
    assert catalog.name == "lake"


def test_others_in_the_process_get_pyicebergs_own(side: Side) -> None:
    assert type(side.plain) is SqlCatalog
    assert type(side.plain.load_table(NAME)) is Table


def test_a_table_is_loaded_as_pyiceberg_loads_it(side: Side) -> None:
    ours, theirs = side.ours.load_table(NAME), side.plain.load_table(NAME)
    assert ours.metadata == theirs.metadata
    assert (ours.name(), ours.metadata_location) == (theirs.name(), theirs.metadata_location)
    assert ours.scan().to_arrow().num_rows == theirs.scan().to_arrow().num_rows == 10


def test_a_table_that_is_not_there_is_told_so(side: Side) -> None:
    with pytest.raises(NoSuchTableError):
        side.ours.load_table("rpc.none")


def _added(table: Table) -> list[TableUpdate]:
    """Make the updates of an append by PyIceberg, which is not sent."""
    transaction = table.transaction()
    transaction.append(ROWS)
    return list(transaction._updates)


def _removal(table: Table, *which: int) -> list[TableUpdate]:
    ids = [table.metadata.snapshots[i].snapshot_id for i in which]
    return [RemoveSnapshotsUpdate.model_validate({"snapshot-ids": [one]}) for one in ids]


def _ref(table: Table, name: str, at: int, kind: str = "branch") -> TableUpdate:
    snapshot_id = table.metadata.snapshots[at].snapshot_id
    return SetSnapshotRefUpdate.model_validate({"ref-name": name, "type": kind, "snapshot-id": snapshot_id})


UPDATES: dict[str, Callable[[Table], Sequence[TableUpdate]]] = {
    "properties": lambda _: [
        SetPropertiesUpdate(updates={"a": "1", "b": "2"}),
        RemovePropertiesUpdate(removals=["a"]),
    ],
    "append": _added,
    "append and expire": lambda t: [*_added(t), *_removal(t, 0)],
    "append and expire the last but one": lambda t: [*_added(t), *_removal(t, 3, 0)],
    "expire what a tag is on": lambda t: _removal(t, 1),
    "expire the head": lambda t: _removal(t, 4),
    "a branch": lambda t: [_ref(t, "audit", 2)],
    "a tag moves": lambda t: [_ref(t, "v1", 3, "tag")],
    "a tag goes": lambda _: [RemoveSnapshotRefUpdate.model_validate({"ref-name": "v1"})],
    "main goes back": lambda t: [_ref(t, "main", 2)],
    "few versions": lambda t: [
        SetPropertiesUpdate(updates={"write.metadata.previous-versions-max": "3"}),
        *_added(t),
    ],
}


def plain_fields(metadata: TableMetadata) -> dict[str, Any]:
    """Return metadata as JSON, but for what is of the moment, and what PyIceberg does otherwise than Java."""
    fields: dict[str, Any] = json.loads(metadata.model_dump_json())
    for one in fields["snapshots"]:
        one.pop("parent-snapshot-id", None)
    for name in ("last-updated-ms", "snapshot-log"):
        fields.pop(name, None)
    return fields


@pytest.mark.parametrize("make", UPDATES.values(), ids=UPDATES.keys())
def test_an_update_has_the_outcome_that_pyicebergs_own_has(side: Side, make: Callable[[Table], Any]) -> None:
    table = side.table()
    updates = tuple(make(table))
    theirs = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location)
    given = relevant_part(table.metadata, updates)
    part = update_table_metadata(given, updates, metadata_location=table.metadata_location)
    assert plain_fields(merge_updated(part, given, table.metadata, updates)) == plain_fields(theirs)
    response = side.ours.commit_table(table, (AssertTableUUID(uuid=table.metadata.table_uuid),), updates)
    assert plain_fields(response.metadata) == plain_fields(theirs)
    written = side.plain.load_table(NAME)
    assert written.metadata == response.metadata == side.table().metadata
    assert written.metadata_location == response.metadata_location


def test_expired_parent_is_still_named_and_log_begins_after_gap(side: Side) -> None:
    table = side.table()
    ids = [s.snapshot_id for s in table.metadata.snapshots]
    side.ours.commit_table(table, (), tuple(_removal(table, 2)))
    metadata = side.plain.load_table(NAME).metadata
    assert [s.parent_snapshot_id for s in metadata.snapshots] == [None, ids[0], ids[2], ids[3]]
    assert [entry.snapshot_id for entry in metadata.snapshot_log] == ids[3:]


def test_parent_that_expires_with_new_child_is_still_named(side: Side) -> None:
    table = side.table()
    parent = table.metadata.current_snapshot_id
    side.ours.commit_table(table, (), (*_added(table), *_removal(table, 4)))
    assert side.plain.load_table(NAME).metadata.snapshots[-1].parent_snapshot_id == parent


def test_statistics_of_partitions_go_with_their_snapshot(side: Side) -> None:
    table = side.table()
    ids = [s.snapshot_id for s in table.metadata.snapshots]
    fields = {"statistics-path": "file:///lake/p.parquet", "file-size-in-bytes": 1}
    given = tuple(
        SetPartitionStatisticsUpdate.model_validate({"partition-statistics": {**fields, "snapshot-id": one}})
        for one in ids
    )
    side.ours.commit_table(table, (), given)
    side.ours.commit_table(side.table(), (), tuple(_removal(table, 0, 2)))
    left = side.plain.load_table(NAME).metadata.partition_statistics
    assert [one.snapshot_id for one in left] == [ids[1], ids[3], ids[4]]


@pytest.mark.parametrize("kind", ["tag", "branch"])
def test_snapshots_of_a_ref_created_meanwhile_are_not_removed(side: Side, kind: str) -> None:
    table = side.table()
    side.plain.commit_table(side.plain.load_table(NAME), (), (_ref(table, "audit", 2, kind),))
    with pytest.raises(CommitFailedException, match="created meanwhile: audit"):
        side.ours.commit_table(table, (), tuple(_removal(table, 0)))
    side.ours.commit_table(table, (), (SetPropertiesUpdate(updates={"a": "1"}),))
    assert len(side.table().metadata.snapshots) == 5


@pytest.mark.parametrize(
    ("ref", "snapshot"), [("main", 0), ("main", None), ("audit", 4), ("v1", 0), ("v1", None)], ids=str
)
def test_requirements_are_checked_against_the_present_state(side: Side, ref: str, snapshot: int | None) -> None:
    table = side.table()
    at = None if snapshot is None else table.metadata.snapshots[snapshot].snapshot_id
    wanted = AssertRefSnapshotId.model_validate({"ref": ref, "snapshot-id": at})
    with pytest.raises(CommitFailedException):
        side.ours.commit_table(table, (wanted,), (SetPropertiesUpdate(updates={"a": "1"}),))
    assert side.table().metadata_location == table.metadata_location


def test_a_table_that_moved_on_is_read_again_before_it_is_judged(side: Side) -> None:
    table = side.table()
    head = AssertRefSnapshotId.model_validate({"ref": "main", "snapshot-id": table.metadata.current_snapshot_id})
    side.plain.load_table(NAME).append(ROWS)
    with pytest.raises(CommitFailedException, match="has changed"):
        side.ours.commit_table(table, (head,), tuple(_added(table)))


def test_a_change_of_somebody_else_is_kept(side: Side) -> None:
    table = side.table()
    with side.plain.load_table(NAME).transaction() as transaction:
        transaction.set_properties(owner="me")
    side.ours.commit_table(table, (), (SetPropertiesUpdate(updates={"a": "1"}),))
    assert {"owner": "me", "a": "1"}.items() <= side.table().properties.items()


def test_second_commit_on_the_same_version_loses_the_swap(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    table = side.table()
    written = CheckedSqlCatalog._write_metadata

    def slow(**kwargs: Any) -> None:
        written(**kwargs)
        side.plain.load_table(NAME).append(ROWS)

    monkeypatch.setattr(CheckedSqlCatalog, "_write_metadata", staticmethod(slow))
    with pytest.raises(CommitFailedException, match="updated by another process"):
        side.ours.commit_table(table, (), (SetPropertiesUpdate(updates={"a": "1"}),))
    assert "a" not in side.table().properties


def test_the_version_at_hand_is_not_read_again(side: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    table = side.table()
    reads: list[str] = []
    read = sql_catalog.read_metadata

    def counted(file: Any) -> TableMetadata:
        reads.append(file.location)
        return read(file)

    monkeypatch.setattr(sql_catalog, "read_metadata", counted)
    side.ours.commit_table(table, (), (SetPropertiesUpdate(updates={"a": "1"}),))
    assert reads == []
    side.ours.commit_table(table, (), (SetPropertiesUpdate(updates={"b": "1"}),))
    assert len(reads) == 1
    assert {"a", "b"} <= side.table().properties.keys()


def test_a_snapshot_that_is_there_cannot_be_added_again(side: Side) -> None:
    table = side.table()
    again = AddSnapshotUpdate(snapshot=table.metadata.snapshots[0])
    with pytest.raises(ValueError, match="already exists"):
        side.ours.commit_table(table, (), (again,))


def test_a_table_without_changes_stays_as_it_is(side: Side) -> None:
    table = side.table()
    assert side.ours.commit_table(table, (), ()).metadata_location == table.metadata_location


def test_pyicebergs_own_changes_go_through_it_too(side: Side) -> None:
    table = side.table()
    with table.update_schema() as update:
        update.add_column("sauce", LongType())
    table.append(pa.table({"kafka_offset": [3], "sauce": [4]}))
    assert side.plain.load_table(NAME).scan().to_arrow().num_rows == 11


@pytest.mark.parametrize("made_of", ["format-version=1", "write.metadata.compression-codec=gzip"])
def test_tables_of_another_make_are_committed_to(side: Side, made_of: str) -> None:
    name, value = made_of.split("=")
    table = side.ours.create_table("rpc.other", SCHEMA, properties={name: value})
    table.append(ROWS)
    table.append(ROWS)
    assert side.plain.load_table("rpc.other").scan().to_arrow().num_rows == 4
    assert len(side.ours.load_table("rpc.other").metadata.snapshots) == 2


def test_a_written_file_is_json_that_names_no_null(side: Side) -> None:
    table = side.table()
    table.append(ROWS)
    text = Path(side.table().metadata_location.removeprefix("file://")).read_text()
    assert "null" not in text
    assert json.loads(text)["current-snapshot-id"] == side.table().metadata.current_snapshot_id
