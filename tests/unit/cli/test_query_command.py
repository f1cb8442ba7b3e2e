"""``query``: whose catalog it opens, what it looks up, and exit codes. No Spark is started."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from floe.cli.parser import main
from floe.query import session, statements
from floe.query.catalog import SparkCatalog
from floe.query.exceptions import QueryFailed
from floe.query.statements import QueryRows
from tests.support.canary import Canaries
from tests.support.connectors import MINIMAL

CATALOG = {"iceberg.catalog": "lake", "iceberg.catalog.type": "rest", "iceberg.catalog.uri": "http://127.0.0.1:8181"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AIRFLOW_HOME", raising=False)
    add(tmp_path, "pizzas")
    return tmp_path


def add(folder: Path, name: str, **keys: str) -> None:
    (folder / f"{name}.json").write_text(json.dumps({**MINIMAL, **CATALOG, "name": name, **keys}))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[SparkCatalog]:
    """The catalogs of the sessions that a command opens; each statement has one row."""
    found: list[SparkCatalog] = []

    @contextmanager
    def open_session(catalogs: Sequence[SparkCatalog], *_: object) -> Iterator[None]:
        found.extend(catalogs)
        yield

    def rows_of(_: object, sql: str) -> QueryRows:
        if sql == "wrong":
            message = "there is no table wrong"
            raise QueryFailed(message)
        return QueryRows(["n"], [[1]], True)

    monkeypatch.setattr(session, "session", open_session)
    monkeypatch.setattr(statements, "rows_of", rows_of)
    monkeypatch.setattr(session, "found_jars", lambda *_: [])
    return found


def test_query_prints_rows_of_the_only_catalog(
    folder: Path, opened: list[SparkCatalog], capsys: pytest.CaptureFixture[str]
) -> None:
    add(folder, "calzones")
    assert main(["query", "select 1"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["+-----+", "1 row"]
    assert main(["query", "--json", "--connector", "pizzas", "select 1"]) == 0
    assert json.loads(capsys.readouterr().out) == {"rows": [{"n": 1}], "is_all": True}
    assert [one.name for one in opened] == ["lake", "lake"]


def test_query_of_several_catalogs_wants_a_connector(
    folder: Path, opened: list[SparkCatalog], capsys: pytest.CaptureFixture[str]
) -> None:
    add(folder, "calzones", **{"iceberg.catalog": "other"})
    assert main(["query", "select 1"]) == 2
    assert "several catalogs: name one of them by --connector (calzones, pizzas)" in capsys.readouterr().err
    assert main(["query", "--connector", f"{folder}/calzones.json", "select 1"]) == 0
    assert [one.name for one in opened] == ["other"]


def test_query_resolves_references_and_the_environment(
    folder: Path, opened: list[SparkCatalog], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = Canaries().plant("token")
    monkeypatch.setenv("FLOE_CONFIG_PROVIDERS", "env")
    monkeypatch.setenv("LAKE_TOKEN", secret)
    monkeypatch.setenv("PYICEBERG_CATALOG__LAKE__SCOPE", "of-the-environment")
    add(folder, "pizzas", **{"iceberg.catalog.token": "${env:LAKE_TOKEN}"})
    assert main(["query", "--connector", "pizzas", "select 1"]) == 0
    (one,) = opened
    assert (one.properties["token"], one.properties["scope"]) == (secret, "of-the-environment")


@pytest.mark.parametrize(
    ("keys", "arguments", "code", "said"),
    [
        ({}, ["wrong"], 1, "error: there is no table wrong"),
        ({"floe.catalog.conn-id": "lake"}, ["select 1"], 1, "is not known here: the Airflow connection 'lake'"),
        ({"iceberg.catalog.type": "rst"}, ["select 1"], 2, "iceberg.catalog.type 'rst' is not supported"),
        ({}, ["--json"], 2, "--json needs a statement"),
        ({}, ["--connector", "x", "select 1"], 2, "there is no connector 'x'"),
    ],
)
def test_query_that_cannot_be_answered_says_why(
    folder: Path,
    opened: list[SparkCatalog],
    capsys: pytest.CaptureFixture[str],
    keys: dict[str, Any],
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    add(folder, "pizzas", **keys)
    assert main(["query", *arguments]) == code
    assert said in capsys.readouterr().err
