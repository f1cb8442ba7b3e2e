"""Records of the tests, made and read back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from floe.catalogs.client import CatalogClient

if TYPE_CHECKING:
    from tests.support.runs.pipeline import Pipeline

SAUCES = ("regular", "light", "none")


def ids(start: int, end: int) -> list[dict[str, int]]:
    """Return records of an id alone."""
    return [{"id": i} for i in range(start, end)]


def orders(start: int, end: int, **more: object) -> list[dict[str, object]]:
    """Return records of an id and a sauce, and of what all of them have."""
    return [{"id": i, "sauce": SAUCES[i % 3], **more} for i in range(start, end)]


def read_ids(one: Pipeline, table: str = "db.t", branch: str | None = None) -> list[int]:
    """Return the ids of a table, sorted; one that is there twice is twice in the list."""
    found = CatalogClient.of(one.connector).require(table)
    snapshot = found.snapshot_by_name(branch) if branch else found.current_snapshot()
    scan = found.scan(selected_fields=("id",), snapshot_id=snapshot.snapshot_id if snapshot else None)
    return sorted(scan.to_arrow().column("id").to_pylist())
