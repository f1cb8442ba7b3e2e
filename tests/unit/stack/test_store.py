"""A stack with its tables on S3: what its catalog knows, and what is left when the store has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from stack.cli import down, up
from stack.demo import Demo
from stack.exceptions import StackError
from stack.local import Local
from stack.services.broker import Broker
from stack.services.object_store import ObjectStore
from stack.settings import Settings

GONE = "in memory: `make down` loses them"


def local(state: Path, **variables: str) -> Local:
    return Local(Settings.read({"FLOE_STATE": str(state), **variables}))


def filled(state: Path, **variables: str) -> Local:
    """A stack with the marks and the catalog of an earlier `make up`, stopped."""
    one = local(state, **variables)
    Demo.of(one).filled.touch()
    (state / "catalog.db").touch()
    return one


def test_catalog_of_a_stack_on_s3_has_the_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "airflow").mkdir()
    one = local(tmp_path, STORE="s3", S3_PORT="19000")
    environment = one.airflow.environment()
    of_catalog = {name: value for name, value in environment.items() if name.startswith("PYICEBERG_CATALOG__DEMO__")}
    assert of_catalog == {
        "PYICEBERG_CATALOG__DEMO__URI": f"sqlite:///{tmp_path}/catalog.db",
        "PYICEBERG_CATALOG__DEMO__WAREHOUSE": "s3://warehouse/tables",
        "PYICEBERG_CATALOG__DEMO__S3__ENDPOINT": "http://127.0.0.1:19000",
        "PYICEBERG_CATALOG__DEMO__S3__REGION": "us-east-1",
        "PYICEBERG_CATALOG__DEMO__S3__ACCESS_KEY_ID": "floe-demo-user",
        "PYICEBERG_CATALOG__DEMO__S3__SECRET_ACCESS_KEY": "floe-demo-secret",
    }
    one.describe()
    said = capsys.readouterr().out
    assert "Store    is down" in said
    assert GONE in said


def test_pyiceberg_reads_the_variables_as_the_properties(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.utils.config import Config

    (tmp_path / "airflow").mkdir()
    one = local(tmp_path, STORE="s3")
    for name, value in one.airflow.environment().items():
        if name.startswith("PYICEBERG_"):
            monkeypatch.setenv(name, value)
    assert Config().get_catalog_config("demo") == one.catalog


def test_store_with_data_stays_a_part_until_the_wipe(tmp_path: Path) -> None:
    (tmp_path / "object-store").mkdir()
    one = local(tmp_path)
    assert one.has_store, "`make down` and `make status` have to find it"
    one.wipe()
    assert not one.has_store
    assert one.catalog["warehouse"] == (tmp_path / "warehouse").as_uri()


def test_records_in_a_store_that_has_ended_do_not_count(tmp_path: Path) -> None:
    (tmp_path / "object-store").mkdir()
    assert not filled(tmp_path, STORE="s3").is_filled, "the next `make up` has to make its data again"


def test_down_removes_the_catalog_with_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "object-store").mkdir()
    one = filled(tmp_path, STORE="s3")
    monkeypatch.setattr("stack.cli._deaf", lambda: None)
    monkeypatch.setattr(ObjectStore, "process", object())
    monkeypatch.setattr(ObjectStore, "stop", lambda _: None)
    down(one)
    assert list(tmp_path.glob("catalog.db*")) == []
    assert list(tmp_path.glob("filled*")) == []


def test_store_of_running_stack_without_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broker, "running", True)
    with pytest.raises(StackError, match=r"running without its S3 store, .* `make down`, then `make up STORE=s3`"):
        up(local(tmp_path, STORE="s3"))


def test_tables_in_a_folder_are_not_removed_for_s3(tmp_path: Path) -> None:
    one = filled(tmp_path, STORE="s3")
    with pytest.raises(StackError, match="has its tables in a folder: remove it by `make clean`"):
        up(one)
    assert (tmp_path / "catalog.db").exists()
