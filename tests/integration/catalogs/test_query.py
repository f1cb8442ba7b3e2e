"""``python -m floe query`` on a real catalog of each type, by the keys of a connector alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from floe.query.catalog import AWS_BUNDLE, DRIVERS, RUNTIME
from stack import jars
from stack.settings import REPOSITORY
from tests.support.catalogs import CatalogLake
from tests.support.metastores.lakes import SERVERS, make_lake
from tests.support.tables.lake import SCHEMA, TABLE
from tests.support.tables.slices import write_slice

pytestmark = pytest.mark.full  # the one of its kind in ci is in stack/test_query.py


# Java sends the headers of a REST catalog to the server of its login as well, which the strict server refuses
@pytest.fixture(params=["sql", *(kind for kind in SERVERS if kind != "rest-strict")])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CatalogLake]:
    folder = tmp_path / "lake"
    folder.mkdir()
    made = make_lake(request.param, folder, request.getfixturevalue)
    yield made
    made.close()


def test_query_reads_tables_and_changes_none(lake: CatalogLake, tmp_path: Path) -> None:
    lake.tables().create(TABLE, SCHEMA)
    write_slice(lake, (0, 0, 5)).land()
    (tmp_path / "one.json").write_text(json.dumps(dict(lake.connector().properties)))
    packages = (RUNTIME, AWS_BUNDLE, DRIVERS["jdbc:sqlite:"], DRIVERS["jdbc:postgresql:"])
    found = [str(jar) for package in packages for jar in jars.resolve([package], transitive=False)]
    command = [sys.executable, "-m", "floe", "query", "--connector", str(tmp_path / "one.json")]
    lines = f"print('rows', spark.table('{TABLE}').count())\nspark.sql('drop table {TABLE}')"
    done = subprocess.run(
        [*command, *(part for jar in found for part in ("--jars", jar))],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY / "plugins")},
        cwd=tmp_path,
        input=lines,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout == "rows 5\n", done.stderr
    assert (done.returncode, done.stderr.startswith("error: no table was changed: queries only read")) == (1, True)
    assert len(lake.rows()) == 5
