"""What the probe of a catalog finds in one that does not keep what is committed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ForbiddenError

from floe.status.catalog_probe import probe_catalog
from tests.support.tables.lake import TABLE, Lake
from tests.support.tables.unfaithful import (
    Alteration,
    alter_answers,
    alter_loads,
    cut_to,
    without_branches,
    without_snapshots,
    without_summary,
)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    (tmp_path / "warehouse").mkdir()
    made = Lake(tmp_path)
    made.create()
    yield made
    made.close()


@pytest.mark.parametrize(
    ("alter", "found"),
    [
        (cut_to(256), "floe.ledger.floe-probe.main"),
        (without_summary, "summary property 'floe.net' is not there"),
        (without_branches, "branch 'floe_probe' is at None"),
        (without_snapshots, "is not there"),
    ],
)
def test_probe_names_what_a_catalog_loses(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, alter: Alteration, found: str
) -> None:
    alter_loads(monkeypatch, alter)
    assert any(found in finding for finding in probe_catalog(lake.tables(), "rpc"))


def test_probe_names_what_a_catalog_answers_otherwise(lake: Lake) -> None:
    client = lake.catalog()
    alter_answers(client, cut_to(4_000 // 2))
    findings = probe_catalog(lake.tables(client), "rpc")
    assert any("2000 of" in finding for finding in findings)
    assert lake.tables().names("rpc") == [TABLE]


def test_probe_table_that_remains_is_named(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        msg = "no grant"
        raise ForbiddenError(msg)

    monkeypatch.setattr(SqlCatalog, "drop_table", refuse)
    (finding,) = probe_catalog(lake.tables(), "rpc")
    assert "remains, drop it: not allowed to drop table 'rpc.floe_probe_" in finding
