"""A stack with its tables on S3: what its catalog knows, and what is left when the store has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from stack.cli import down, up
from stack.demo import Demo, refill
from stack.exceptions import StackError
from stack.local import Local
from stack.services.broker import Broker
from stack.services.rest import Rest
from stack.settings import Settings

GONE = "in memory: `make down` loses them, and nothing else"


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


@pytest.fixture
def stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Local:
    """A stack on S3 with what an earlier `make up` made, whose parts start and stop by a word."""
    monkeypatch.setattr("stack.cli._deaf", lambda: None)
    monkeypatch.setattr("stack.cli.require_java", lambda: None)
    monkeypatch.setattr(Local, "start", lambda _: None)
    for name in ("object-store", "kafka", "airflow"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kept").touch()
    return filled(tmp_path, STORE="s3")


def test_down_removes_the_catalog_with_the_store_and_nothing_else(
    stopped: Local, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    down(stopped)
    assert list(tmp_path.glob("catalog.db*")) == []
    assert [path.parent.name for path in sorted(tmp_path.glob("*/kept"))] == ["airflow", "kafka", "object-store"]
    assert "The tables went with the S3 store" in capsys.readouterr().out
    down(stopped)
    assert "The tables went" not in capsys.readouterr().out, "there were none any more"


@pytest.mark.parametrize("was_killed", [False, True])
def test_up_after_the_store_has_ended_keeps_the_rest_and_refills_the_demo(
    stopped: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, was_killed: bool
) -> None:
    refilled: list[Local] = []
    monkeypatch.setattr("stack.demo.refill", refilled.append)
    if not was_killed:
        down(stopped)
    up(stopped)
    assert refilled == [stopped]
    assert [path.parent.name for path in sorted(tmp_path.glob("*/kept"))] == ["airflow", "kafka", "object-store"]
    assert not (tmp_path / "catalog.db").exists(), "it names tables that are gone"


def test_refill_gives_the_decision_unless_the_dag_is_paused(
    stopped: Local, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    triggered: list[object] = []
    monkeypatch.setattr(Rest, "wait_for_dag", lambda *_: None)
    monkeypatch.setattr(Rest, "trigger", lambda _, dag, conf: triggered.append((dag, conf)))
    monkeypatch.setattr("stack.demo.move", lambda _, dag, what, begin: begin())
    monkeypatch.setattr("stack.demo.show", lambda *_: None)
    for paused in (True, False):
        monkeypatch.setattr(Rest, "is_paused", lambda *_, is_paused=paused: is_paused)
        refill(stopped)
    assert triggered == [("pizzas-on-ice", {"dropped_tables": {"rpc.pizzas": "refill"}})]
    assert capsys.readouterr().out.count("FLOE-224") == 2


def test_store_of_running_stack_without_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broker, "running", True)
    with pytest.raises(StackError, match=r"running without its S3 store, .* `make down`, then `make up STORE=s3`"):
        up(local(tmp_path, STORE="s3"))


def test_tables_in_a_folder_are_not_removed_for_s3(tmp_path: Path) -> None:
    one = filled(tmp_path, STORE="s3")
    with pytest.raises(StackError, match="has its tables in a folder: remove it by `make clean`"):
        up(one)
    assert (tmp_path / "catalog.db").exists()
