"""Catalogs that do not keep a commit as it was sent: mocks, as no real one that does so starts here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import CommitTableResponse, Table
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Summary

from floe.catalogs.providers.sql.provider import SqlProvider
from tests.support.tables.lake import LEDGER

Alteration = Callable[[TableMetadata], TableMetadata]


def without_ledger(metadata: TableMetadata) -> TableMetadata:
    """Drop all properties of a ledger."""
    kept = {name: value for name, value in metadata.properties.items() if not name.startswith(LEDGER)}
    return metadata.model_copy(update={"properties": kept})


def cut_to(length: int) -> Alteration:
    """Cut every property, as a column of a database does."""

    def alter(metadata: TableMetadata) -> TableMetadata:
        cut = {name: value[:length] for name, value in metadata.properties.items()}
        return metadata.model_copy(update={"properties": cut})

    return alter


def without_summary(metadata: TableMetadata) -> TableMetadata:
    """Drop what floe wrote into summaries."""
    snapshots = [
        one.model_copy(update={"summary": Summary(operation=one.summary.operation) if one.summary else None})
        for one in metadata.snapshots
    ]
    return metadata.model_copy(update={"snapshots": snapshots})


def without_branches(metadata: TableMetadata) -> TableMetadata:
    """Ignore every branch but main."""
    return metadata.model_copy(update={"refs": {name: ref for name, ref in metadata.refs.items() if name == "main"}})


def without_snapshots(metadata: TableMetadata) -> TableMetadata:
    """Ignore snapshots and heads."""
    return metadata.model_copy(update={"snapshots": [], "refs": {}, "current_snapshot_id": None})


def alter_answers(catalog: Catalog, alter: Alteration) -> None:
    """Have a client's commits answered otherwise than they were made."""
    perform = catalog.commit_table

    def commit_table(table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        answer = perform(table, requirements, updates)
        return answer.model_copy(update={"metadata": alter(answer.metadata)})

    catalog.commit_table = commit_table  # type: ignore[method-assign]


def alter_loads(monkeypatch: pytest.MonkeyPatch, alter: Alteration) -> list[str]:
    """Have SQL catalogs behave as servers whose tables lose something once a commit was answered; list what is loaded."""
    monkeypatch.setattr(SqlProvider, "is_committed_by_server", True)
    loaded: list[str] = []
    load = SqlCatalog.load_table

    def load_table(catalog: SqlCatalog, identifier: Any) -> Table:
        table = load(catalog, identifier)
        loaded.append(".".join(table.name()))
        if table.metadata.snapshots:
            table.metadata = alter(table.metadata)
        return table

    monkeypatch.setattr(SqlCatalog, "load_table", load_table)
    return loaded
