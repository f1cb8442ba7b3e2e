"""A process that is killed at each step of a commit: the next one finds the rows once, in catalogs without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.catalogs import CatalogLake, PostgreSqlLake
from tests.support.tables.killed import GONE, land_in
from tests.support.tables.lake import expected
from tests.support.tables.slices import write_slice

SESSION = "pyiceberg.catalog.sql.Session.commit"
FOLDER = "floe.catalogs.providers.hadoop.version_folder.VersionFolder"
SQL_STEPS = {
    "after pyiceberg.serializers.ToOutputFile.table_metadata": 0,
    f"before {SESSION}": 0,
    f"after {SESSION}": 1,
}
HADOOP_STEPS = {
    f"before {FOLDER}.publish": 0,
    f"after {FOLDER}._write": 0,
    f"before {FOLDER}._link": 0,
    f"after {FOLDER}._link": 1,
    f"before {FOLDER}._write_hint": 1,
    "before os.replace": 1,
    f"after {FOLDER}._write_hint": 1,
}
STEPS = [
    *(pytest.param("sql", step, landed, id=f"sqlite {step}") for step, landed in SQL_STEPS.items()),
    *(pytest.param("postgresql", step, landed, id=f"postgresql {step}") for step, landed in SQL_STEPS.items()),
    *(pytest.param("hadoop", step, landed, id=f"hadoop {step}") for step, landed in HADOOP_STEPS.items()),
]


@pytest.fixture
def lake(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> Iterator[CatalogLake]:
    (tmp_path / "warehouse").mkdir()
    if kind == "postgresql":
        made: CatalogLake = PostgreSqlLake(tmp_path, server=request.getfixturevalue("postgresql"))
    else:
        made = CatalogLake(tmp_path, kind=kind)
    yield made
    made.close()


@pytest.mark.parametrize(("kind", "step", "landed"), STEPS)
def test_commit_killed_at_any_step_is_there_once(lake: CatalogLake, step: str, landed: int) -> None:
    lake.create()
    write_slice(lake, (0, 0, 5)).land()
    written = write_slice(lake, (0, 5, 9), plan_id="plan-2")
    assert land_in(lake, written, step) == GONE
    assert lake.rows() == expected((0, 9 if landed else 5))
    assert written.land().already == bool(landed)
    write_slice(lake, (0, 9, 12), plan_id="plan-3").land()
    assert lake.rows() == expected((0, 12))
    assert len(lake.load().metadata.snapshots) == 3
