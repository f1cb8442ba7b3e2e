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
    AssertTableUUID,
    RemoveSnapshotsUpdate,
    SetSnapshotRefUpdate,
)

import floe
import floe_job
from floe.catalogs import pyiceberg_internals
from floe.private_names import PrivateName
from tests.support import fixtures
from tests.support.repository import ROOT

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


def test_file_is_read_batch_by_batch() -> None:
    assert inspect.isgeneratorfunction(engine.ArrowScan._record_batches_from_scan_tasks_and_deletes)


def test_sql_commit_calls_what_floe_overrides() -> None:
    source = inspect.getsource(SqlCatalog.commit_table)
    assert "self.load_table(" in source
    assert "self._update_and_stage_table(current_table, table.name(), requirements, updates)" in source
    assert "IcebergTables.metadata_location == current_table.metadata_location" in source
    assert "self._convert_orm_to_iceberg(" in inspect.getsource(SqlCatalog.load_table)
