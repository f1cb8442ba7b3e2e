"""`make query`: the catalogs that it opens, and what it says without one. No Spark is started."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from stack import cli
from stack.exceptions import StackError
from stack.local import CATALOG, Local
from stack.settings import Settings
from stack.spark import query
from tests.support.repository import ROOT


def local(state: Path, **variables: str) -> Local:
    return Local(Settings.read({"FLOE_STATE": str(state), **variables}))


def test_connector_of_the_demo_has_the_demos_catalog(tmp_path: Path) -> None:
    demo = local(tmp_path).catalog
    file = ROOT / "dags" / "connectors" / "pizzas-on-ice.json"
    assert query.of_connector(file, CATALOG, demo) == query.of_demo(CATALOG, demo)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, r"one\.json' cannot be read \(No such file or directory\)"),
        ("{}", "Correct the file; `make check CONNECTOR="),
    ],
)
def test_connector_that_cannot_be_read_is_named(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "one.json").write_text(text)
    with pytest.raises(StackError, match=message):
        query.of_connector(tmp_path / "one.json", CATALOG, local(tmp_path).catalog)


def test_query_without_a_catalog_says_how_to_start(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=rf"no catalog {tmp_path}/catalog\.db: start the stack by `make up`"):
        query.require_tables(local(tmp_path))


def test_query_of_a_store_that_is_down_says_so(tmp_path: Path) -> None:
    (tmp_path / "catalog.db").touch()
    query.require_tables(local(tmp_path))
    with pytest.raises(StackError, match="S3 store, which is down: start it by `make up STORE=s3`"):
        query.require_tables(local(tmp_path, STORE="s3"))


def test_query_says_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "catalog.db").touch()
    monkeypatch.setattr(query.jars, "resolve", lambda packages, *_, **__: [Path(one) for one in packages])
    monkeypatch.setattr(query, "session", lambda *_: nullcontext("spark"))
    monkeypatch.setattr(query, "rows_of", lambda *_: "rows")
    monkeypatch.setattr(query, "print_table", print)
    query.query(local(tmp_path), "select 1")
    begun = [line for line in capsys.readouterr().out.splitlines() if "…" in line or line == "rows"]
    waits = ("Iceberg's jars for Spark (downloaded the first time)", "Spark with Iceberg", "the statement")
    assert begun == [*(f"  … {one}" for one in waits), "rows"]


def test_command_passes_statement_and_connector_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Path | None]] = []
    monkeypatch.setenv("FLOE_STATE", str(tmp_path))
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    monkeypatch.setattr(query, "query", lambda _, sql, connector: asked.append((sql, connector)))
    assert cli.main(["query", "--", "-- a comment\nselect 1"]) == 0
    assert cli.main(["query", "--connector", "x.json", "--", ""]) == 0
    assert asked == [("-- a comment\nselect 1", None), ("", Path("x.json"))]
