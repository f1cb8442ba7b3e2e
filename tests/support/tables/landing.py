"""Slices that land in two tables."""

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from floe.commit.slice_commit import SliceCommitter, SliceOutcome
from floe.tables import lake as module
from tests.support.tables.lake import OTHER_TABLE, TABLE, Lake
from tests.support.tables.slices import Written, write_slice
from tests.support.tables.wire import Wire, fails_first

BOTH = (TABLE, OTHER_TABLE)


@dataclass
class Landing:
    """Two tables, a committer for each plan, and what is between it and the catalog."""

    lake: Lake
    monkeypatch: pytest.MonkeyPatch
    wires: list[Wire] = field(default_factory=list)

    def write(self, *ranges: tuple[int, int, int], tables: tuple[str, ...] = BOTH, **of_plan: object) -> Written:
        return write_slice(self.lake, *ranges, tables=tables, **of_plan)  # type: ignore[arg-type]

    def committer(self, written: Written, patience_ms: int = 20_000, wire: bool = False) -> SliceCommitter:
        catalog = self.lake.catalog()
        if wire:
            self.wires.append(Wire(catalog, before=fails_first(ConnectionError("reset"), times=10**6)))
        tables = SimpleNamespace(of=lambda _: self.lake.tables(catalog))
        self.monkeypatch.setattr(module, "CatalogClient", tables)
        keys = {"iceberg.tables": ",".join(BOTH), "iceberg.control.commit.timeout-ms": str(patience_ms)}
        return SliceCommitter(written.plan, self.lake.connector(**keys))

    def land(self, written: Written, **how: int) -> SliceOutcome:
        committer = self.committer(written, **how)  # type: ignore[arg-type]
        return committer.commit(written.plan.slices[0], written.announcement)

    def rows(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        return self.lake.rows(), self.lake.rows(name=OTHER_TABLE)


@pytest.fixture
def landing(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> Landing:
    """Give two tables."""
    for name in BOTH:
        lake.create(name=name)
    return Landing(lake, monkeypatch)
