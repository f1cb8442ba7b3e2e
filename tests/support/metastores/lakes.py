"""Lakes on a real catalog of each type: what each needs a server of, and when it is run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.catalogs import CatalogLake, GlueLake, HadoopLake, HiveLake, PostgreSqlLake, RestLake
from tests.support.metastores.nessie import NessieLake
from tests.support.rest.strict_lake import StrictLake

Ask = Callable[[str], Any]
"""Returns a fixture by its name."""

SERVERS: dict[str, tuple[pytest.MarkDecorator, Callable[[Path, Ask], CatalogLake]]] = {
    "rest": (pytest.mark.ci, lambda folder, ask: RestLake(folder, server=ask("rest_catalog"))),
    "rest-strict": (pytest.mark.full, lambda folder, ask: StrictLake(folder, server=ask("rest_catalog"))),
    "postgresql": (pytest.mark.ci, lambda folder, ask: PostgreSqlLake(folder, server=ask("postgresql"))),
    "nessie": (pytest.mark.full, lambda folder, ask: NessieLake(folder, server=ask("nessie"))),
    "hive": (pytest.mark.ci, lambda folder, ask: HiveLake(folder, server=ask("hive_metastore"))),
    "glue": (pytest.mark.ci, lambda folder, ask: GlueLake(folder, server=ask("moto"))),
}
"""What needs a server beside it, a type or another place of one: its mark, and what makes its lake."""


def make_lake(kind: str, folder: Path, ask: Ask) -> CatalogLake:
    """Make a lake in a catalog of a kind; ``folder`` is empty."""
    (folder / "warehouse").mkdir()
    if kind in SERVERS:
        return SERVERS[kind][1](folder, ask)
    return HadoopLake(folder) if kind == "hadoop" else CatalogLake(folder, kind=kind)
