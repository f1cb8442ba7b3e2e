"""PyIceberg's private names that the commit leans on: a new version that changes one fails here, with its name."""

import inspect

import pyiceberg
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.io import pyarrow as engine
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRef
from pyiceberg.table.snapshots import SnapshotSummaryCollector, update_snapshot_summaries
from pyiceberg.table.update import (
    AddSnapshotUpdate,
    AssertRefSnapshotId,
    AssertTableUUID,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
)
from pyiceberg.table.update.snapshot import (
    _FastAppendFiles,
    _MergeAppendFiles,
    _OverwriteFiles,
    _SnapshotProducer,
)

from floe.modes.replace import _Replace
from floe.tables.snapshot_commit import _Append
from tests.support.tables.lake import Lake, append_foreign


def test_the_version_is_the_one_that_was_read() -> None:
    assert pyiceberg.__version__ == "0.12.0"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("_commit", ["self"]),
        ("_manifests", ["self"]),
        ("_existing_manifests", ["self"]),
        ("_process_manifests", ["self", "manifests"]),
        ("_summary", ["self", "snapshot_properties"]),
        ("new_manifest_writer", ["self", "spec"]),
        ("append_data_file", ["self", "data_file"]),
        ("spec", ["self", "spec_id"]),
        ("schema", ["self"]),
    ],
)
def test_a_method_that_is_overridden_or_called_has_its_parameters(name: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(_MergeAppendFiles, name)).parameters) == parameters


def test_the_constructor_takes_what_it_is_given() -> None:
    parameters = inspect.signature(_MergeAppendFiles.__init__).parameters
    assert {"operation", "transaction", "io", "branch", "snapshot_properties"} <= parameters.keys()
    assert issubclass(_MergeAppendFiles, _FastAppendFiles)


def test_what_is_overridden_is_what_the_commit_calls() -> None:
    source = inspect.getsource(_SnapshotProducer._commit)
    assert "self._manifests()" in source
    assert "self._summary(self.snapshot_properties)" in source
    assert "parent_snapshot_id=self._parent_snapshot_id" in source
    assert "_parent_snapshot_id" in inspect.getsource(_FastAppendFiles._existing_manifests)
    assert {"_manifests", "_summary"} <= vars(_Append).keys()


def test_the_attributes_that_are_read_or_set_are_there(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    producer = _Append(table, "main", {"a": "b"}, ())
    assert producer._parent_snapshot_id == table.metadata.current_snapshot_id
    assert producer._snapshot_id == producer.snapshot_id
    assert producer._operation.value == "append"
    assert producer._transaction.table_metadata == table.metadata
    assert {"_parent_snapshot_id", "_snapshot_id", "_operation"} <= _SnapshotProducer.__annotations__.keys()


def test_a_commit_gives_one_snapshot_one_ref_and_one_requirement_and_sends_nothing(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    updates, requirements = _Append(table, "main", {"a": "b"}, ())._commit()
    add, point = updates
    assert isinstance(add, AddSnapshotUpdate)
    assert isinstance(point, SetSnapshotRefUpdate)
    (requirement,) = requirements
    assert isinstance(requirement, AssertRefSnapshotId)
    assert (requirement.ref, requirement.snapshot_id) == ("main", table.metadata.current_snapshot_id)
    assert lake.load().metadata_location == table.metadata_location


def test_a_missing_branch_must_still_be_missing_and_grows_from_mains_head(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    (add, _), (requirement,) = _Append(table, "audit", {}, ())._commit()
    assert isinstance(requirement, AssertRefSnapshotId)
    assert (requirement.ref, requirement.snapshot_id) == ("audit", None)
    assert isinstance(add, AddSnapshotUpdate)
    assert add.snapshot.parent_snapshot_id == table.metadata.current_snapshot_id


def test_a_producer_tells_the_metadata_that_it_began_with(lake: Lake) -> None:
    table = lake.create()
    assert _Append(table, "main", {}, ())._transaction.table_metadata is table.metadata


def test_a_ref_is_moved_with_the_retention_that_the_update_has() -> None:
    own = {"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"}
    assert own <= SetSnapshotRefUpdate.model_fields.keys()
    assert own <= SnapshotRef.model_fields.keys()
    assert set(RemoveSnapshotsUpdate.model_fields) == {"action", "snapshot_ids"}


def test_requirements_of_two_types_guard_together() -> None:
    assert AssertTableUUID.model_fields.keys() == {"type", "uuid"}
    assert list(inspect.signature(Catalog.commit_table).parameters) == ["self", "table", "requirements", "updates"]
    assert isinstance(inspect.getattr_static(Table, "transaction"), type(lambda: None))


def test_the_summary_helpers_take_what_they_are_given() -> None:
    assert {"data_file", "schema", "partition_spec"} <= inspect.signature(
        SnapshotSummaryCollector.add_file
    ).parameters.keys()
    assert list(inspect.signature(update_snapshot_summaries).parameters) == ["summary", "previous_summary"]


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("_process_manifests", ["self", "manifests"]),
        ("_build_manifest_evaluator", ["self", "spec_id"]),
        ("_build_delete_files_partition_predicate", ["self"]),
        ("_summary", ["self", "snapshot_properties"]),
        ("delete_data_file", ["self", "data_file"]),
    ],
)
def test_what_a_replacement_overrides_is_what_an_overwrite_has(name: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(_OverwriteFiles, name)).parameters) == parameters
    assert name in vars(_Replace) or name == "delete_data_file"
    source = inspect.getsource(_SnapshotProducer._manifests)
    assert "self._process_manifests(added_manifests.result() + delete_manifests.result()" in source
    assert "_validate_required_deletes" in inspect.getsource(_OverwriteFiles._deleted_entries)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("_read_all_delete_files", ["io", "tasks"]),
    ],
)
def test_functions_that_read_and_write_files_have_their_parameters(name: str, parameters: list[str]) -> None:
    assert list(inspect.signature(getattr(engine, name)).parameters)[: len(parameters)] == parameters


def test_a_file_is_read_batch_by_batch() -> None:
    method = engine.ArrowScan._record_batches_from_scan_tasks_and_deletes
    assert list(inspect.signature(method).parameters) == ["self", "tasks", "deletes_per_file"]
    assert inspect.isgeneratorfunction(method)
