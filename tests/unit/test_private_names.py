"""Private names of other libraries: each that floe uses is there as it was, and no other module uses one."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any

import pyiceberg
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
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
from pyiceberg.table.update.snapshot import _FastAppendFiles

import floe
import floe_job
from floe.catalogs import pyiceberg_internals
from floe.catalogs.pyiceberg_internals import MergeAppendFiles, OverwriteFiles, SnapshotProducer, metadata_of
from floe.modes.replace import _Replace
from floe.private_names import PrivateName
from floe.tables.snapshot_commit import _Append
from tests.support import fixtures
from tests.support.repository import ROOT
from tests.support.tables.foreign_changes import append_foreign
from tests.support.tables.lake import Lake

lake = fixtures.lake

FENCED = ("_internals", "_patches", "librdkafka")
"""How modules are named that lean on private names."""

FOLDERS = tuple(ROOT / folder for folder in ("plugins", "spark_jobs", "dags"))
NAMED_TUPLE = {"_replace", "_asdict", "_fields", "_make"}
DOCUMENTED = {"_exit"}
"""Public for all that its name says: ``os._exit``. So are librdkafka's own errors, ``KafkaError._TIMED_OUT``."""


def _modules() -> list[str]:
    found = [
        module.name
        for package in (floe, floe_job)
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if module.name.endswith(FENCED[:2])
    ]
    return sorted(found)


MODULES = _modules()
NAMES: list[PrivateName] = [name for module in MODULES for name in importlib.import_module(module).PRIVATE_NAMES]


@cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def _files() -> list[Path]:
    return [file for folder in FOLDERS for file in sorted(folder.rglob("*.py")) if not file.stem.endswith(FENCED)]


# -- the fence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name.path.rpartition(":")[2])
def test_private_name_is_there_as_it_was(name: PrivateName) -> None:
    module, _, path = name.path.partition(":")
    owner: Any = importlib.import_module(module)
    *around, last = path.split(".")
    for part in around:
        owner = getattr(owner, part)
    if not hasattr(owner, last):  # an attribute that instances get
        assert last in getattr(owner, "__annotations__", ()) or f"self.{last}" in inspect.getsource(owner)
    elif name.parameters is not None:
        assert tuple(inspect.signature(getattr(owner, last)).parameters)[: len(name.parameters)] == name.parameters


def test_private_names_have_a_reason_and_an_end() -> None:
    assert len(MODULES) >= 5
    assert all(name.reason and name.until for name in NAMES)


def test_pyiceberg_is_the_version_that_was_read() -> None:
    assert pyiceberg.__version__ == pyiceberg_internals.VERSION


def test_only_fenced_modules_import_private_names() -> None:
    found = [
        f"{file.name}:{node.lineno}: {node.module}"
        for file in _files()
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.ImportFrom) and node.level == 0 and _is_private_import(node)
    ]
    assert found == []


def _is_private_import(node: ast.ImportFrom) -> bool:
    parts = (node.module or "").split(".")
    is_own = parts[0] in ("floe", "floe_job", "__future__")
    return not is_own and any(part.startswith("_") for part in (*parts, *(alias.name for alias in node.names)))


def test_only_fenced_modules_reach_into_objects_of_others() -> None:
    declared = {name.name for name in NAMES}
    own = {name for file in _files() for name in _defined(_tree(file))}
    found = [
        f"{file.name}:{node.lineno}: {ast.unparse(node)}"
        for file in _files()
        for node in ast.walk(_tree(file))
        if isinstance(node, ast.Attribute) and _is_private(node) and not _may_use(node, file, own, declared)
    ]
    assert found == []


def _is_private(node: ast.Attribute) -> bool:
    return node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in NAMED_TUPLE | DOCUMENTED


def _may_use(node: ast.Attribute, file: Path, own: set[str], declared: set[str]) -> bool:
    base = node.value
    if isinstance(base, ast.Name) and base.id in ("self", "cls"):
        return node.attr in own | declared  # a subclass of a library's: what it inherits is declared
    if isinstance(base, ast.Call) and isinstance(base.func, ast.Name) and base.func.id == "super":
        return node.attr in own | declared
    if isinstance(base, ast.Attribute) and base.attr == "KafkaError":
        return True
    return node.attr in _defined(_tree(file))  # of another object of a class that is defined here


def _defined(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    return found


# -- what PyIceberg does with them --------------------------------------------------------------------------------------


def test_append_takes_what_it_is_given() -> None:
    parameters = inspect.signature(MergeAppendFiles.__init__).parameters
    assert {"operation", "transaction", "io", "branch", "snapshot_properties"} <= parameters.keys()
    assert issubclass(MergeAppendFiles, _FastAppendFiles)


def test_overridden_methods_are_what_the_commit_calls() -> None:
    source = inspect.getsource(SnapshotProducer._commit)
    assert "self._manifests()" in source
    assert "self._summary(self.snapshot_properties)" in source
    assert "parent_snapshot_id=self._parent_snapshot_id" in source
    assert "_parent_snapshot_id" in inspect.getsource(_FastAppendFiles._existing_manifests)
    assert {"_manifests", "_summary"} <= vars(_Append).keys()


def test_attributes_of_a_producer_are_there(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    producer = _Append(table, "main", {"a": "b"}, ())
    assert producer._parent_snapshot_id == table.metadata.current_snapshot_id
    assert producer._snapshot_id == producer.snapshot_id
    assert producer._operation.value == "append"
    assert producer._transaction.table_metadata == table.metadata
    assert {"_parent_snapshot_id", "_snapshot_id", "_operation"} <= SnapshotProducer.__annotations__.keys()


def test_prepared_commit_is_not_sent(lake: Lake) -> None:
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


def test_missing_branch_begins_at_the_head_of_main(lake: Lake) -> None:
    lake.create()
    append_foreign(lake, 1)
    table = lake.load()
    (add, _), (requirement,) = _Append(table, "audit", {}, ())._commit()
    assert isinstance(requirement, AssertRefSnapshotId)
    assert (requirement.ref, requirement.snapshot_id) == ("audit", None)
    assert isinstance(add, AddSnapshotUpdate)
    assert add.snapshot.parent_snapshot_id == table.metadata.current_snapshot_id


def test_producer_has_the_metadata_that_it_began_with(lake: Lake) -> None:
    table = lake.create()
    assert metadata_of(_Append(table, "main", {}, ())) is table.metadata


def test_ref_update_has_the_retention_of_the_ref() -> None:
    own = {"max_ref_age_ms", "max_snapshot_age_ms", "min_snapshots_to_keep"}
    assert own <= SetSnapshotRefUpdate.model_fields.keys()
    assert own <= SnapshotRef.model_fields.keys()
    assert set(RemoveSnapshotsUpdate.model_fields) == {"action", "snapshot_ids"}


def test_commit_takes_requirements_of_two_types() -> None:
    assert AssertTableUUID.model_fields.keys() == {"type", "uuid"}
    assert list(inspect.signature(Catalog.commit_table).parameters) == ["self", "table", "requirements", "updates"]
    assert isinstance(inspect.getattr_static(Table, "transaction"), type(lambda: None))


def test_summary_helpers_take_what_they_are_given() -> None:
    assert {"data_file", "schema", "partition_spec"} <= inspect.signature(
        SnapshotSummaryCollector.add_file
    ).parameters.keys()
    assert list(inspect.signature(update_snapshot_summaries).parameters) == ["summary", "previous_summary"]


def test_overwrite_calls_what_a_replacement_overrides() -> None:
    overridden = {name.name for name in pyiceberg_internals.PRIVATE_NAMES if "_OverwriteFiles" in name.path}
    assert overridden <= vars(_Replace).keys()
    assert list(inspect.signature(OverwriteFiles.delete_data_file).parameters) == ["self", "data_file"]
    source = inspect.getsource(SnapshotProducer._manifests)
    assert "self._process_manifests(added_manifests.result() + delete_manifests.result()" in source
    assert "_validate_required_deletes" in inspect.getsource(OverwriteFiles._deleted_entries)


def test_file_is_read_batch_by_batch() -> None:
    assert inspect.isgeneratorfunction(engine.ArrowScan._record_batches_from_scan_tasks_and_deletes)


def test_sql_commit_calls_what_floe_overrides() -> None:
    source = inspect.getsource(SqlCatalog.commit_table)
    assert "self.load_table(" in source
    assert "self._update_and_stage_table(current_table, table.name(), requirements, updates)" in source
    assert "IcebergTables.metadata_location == current_table.metadata_location" in source
    assert "self._convert_orm_to_iceberg(" in inspect.getsource(SqlCatalog.load_table)
