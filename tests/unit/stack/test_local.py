"""Which parts a stack has, and which of the demo's records it gets."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from types import SimpleNamespace

import pytest

from stack import avro_orders
from stack.cli import run_demo, up
from stack.demo import Demo
from stack.exceptions import PortTaken, StackError
from stack.local import Local
from stack.services.airflow import Airflow
from stack.settings import Settings, free_port
from tests.support.repository import ROOT


def local(state: Path, **variables: str) -> Local:
    return Local(Settings.read({"FLOE_STATE": str(state), **variables}))


def test_stack_without_registry_has_json_orders_and_two_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = local(tmp_path)
    assert not one.has_registry
    assert Demo.of(one).dag == "pizzas-on-ice"
    one.describe()
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        "Kafka",
        "Airflow",
        "Catalog",
        "State",
    ]


def test_stack_with_registry_has_avro_orders_and_names_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "airflow").mkdir()
    one = local(tmp_path, REGISTRY="1", SCHEMA_REGISTRY_PORT="18081")
    assert (Demo.of(one).dag, Demo.of(one).table) == ("pizzas-in-avro", "rpc.pizzas_in_avro")
    assert one.airflow.environment()["SCHEMA_REGISTRY_URL"] == "http://127.0.0.1:18081/apis/ccompat/v7"
    one.describe()
    assert "Registry is down" in capsys.readouterr().out


def test_registry_with_data_stays_a_part_until_the_wipe(tmp_path: Path) -> None:
    (tmp_path / "schema-registry").mkdir()
    one = local(tmp_path)
    assert one.has_registry
    assert Demo.of(one).dag == "pizzas-in-avro", "it was REGISTRY=1 that made the data"
    one.wipe()
    assert not one.has_registry


def test_each_demo_has_a_mark_of_its_own_that_a_wipe_removes(tmp_path: Path) -> None:
    plain, avro = local(tmp_path), local(tmp_path, REGISTRY="1")
    assert not plain.is_filled
    Demo.of(plain).filled.touch()
    assert plain.is_filled
    assert not Demo.of(avro).filled.exists()
    plain.forget_fills()
    assert not plain.is_filled


def test_connectors_are_avros_as_long_as_there_is_a_registry(tmp_path: Path) -> None:
    (tmp_path / "airflow").mkdir()
    (tmp_path / "schema-registry").mkdir()
    one = local(tmp_path)
    assert one.airflow.environment()["FLOE_CONNECTORS_DIR"] == str(ROOT / "dags" / "connectors-avro")
    one.wipe()
    (tmp_path / "airflow").mkdir()
    assert one.airflow.environment()["FLOE_CONNECTORS_DIR"] == str(ROOT / "dags" / "connectors")


def test_connectors_made_by_rest_may_name_what_the_stack_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "airflow").mkdir()
    assert local(tmp_path).airflow.environment()["FLOE_REST_CONNECTIONS"] == "demo,kafka_default,spark_default"
    monkeypatch.setenv("FLOE_REST_CONNECTORS", "false")
    assert local(tmp_path).airflow.environment()["FLOE_REST_CONNECTORS"] == "false"


def test_folder_of_connectors_in_the_environment_goes_first(tmp_path: Path) -> None:
    one = local(tmp_path, REGISTRY="1", FLOE_CONNECTORS_DIR="/mine")
    assert one.connectors == Path("/mine")
    (tmp_path / "airflow").mkdir()
    assert one.airflow.environment()["FLOE_CONNECTORS_DIR"] == "/mine"


GIVEN = {"KAFKA_PORT": "19092", "AIRFLOW_PORT": "18080", "FLOE_CONNECTORS_DIR": "/mine", "FLOE_DAGS_FOLDER": "/dags"}


@pytest.mark.parametrize("running", [True, False])
def test_stack_remembers_what_it_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, running: bool
) -> None:
    local(tmp_path, **GIVEN).settings.remember()
    monkeypatch.setattr(Airflow, "running", running)
    later = Local.of({"FLOE_STATE": str(tmp_path)})
    assert later.settings == local(tmp_path, **GIVEN).settings
    assert (later.broker.bootstrap, later.airflow.url) == ("127.0.0.1:19092", "http://127.0.0.1:18080")
    other = Local.of({"FLOE_STATE": str(tmp_path), "AIRFLOW_PORT": "28080", "KAFKA_PORT": ""})
    assert other.settings.airflow_port == (18080 if running else 28080), "what runs is where it is"
    assert other.settings.kafka_port == 19092
    local(tmp_path).wipe()
    assert local(tmp_path).settings.kafka_port == 9092


def test_commands_of_a_stack_have_the_worker_file_that_it_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "airflow").mkdir()
    monkeypatch.delenv("FLOE_WORKER_CONFIG", raising=False)
    default = str(ROOT / "deploy" / "connect-worker.properties")
    assert local(tmp_path).airflow.environment()["FLOE_WORKER_CONFIG"] == default
    local(tmp_path, FLOE_WORKER_CONFIG="/mine.properties").settings.remember()
    monkeypatch.setattr(Airflow, "running", True)
    for environ in ({}, {"FLOE_WORKER_CONFIG": "/yours.properties"}):
        later = Local.of({"FLOE_STATE": str(tmp_path), **environ})
        assert later.airflow.environment()["FLOE_WORKER_CONFIG"] == "/mine.properties"


def test_up_with_another_port_than_what_runs_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local(tmp_path, **GIVEN).settings.remember()
    monkeypatch.setattr(Airflow, "running", True)
    for name, value in {"FLOE_STATE": str(tmp_path), "AIRFLOW_PORT": "28080", "FLOE_CONNECTORS_DIR": "/yours"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        StackError, match="AIRFLOW_PORT is 18080, not 28080; its FLOE_CONNECTORS_DIR is /mine, not /yours"
    ):
        up(Local.of(os.environ))


@pytest.mark.parametrize("text", ["", "[]", '{"KAFKA_PORT": "x"}', '"'])
def test_record_that_cannot_be_read_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(
        StackError, match=r"settings.json, the ports and folders .*: remove it|KAFKA_PORT='x' is not a port"
    ):
        local(tmp_path)


def test_demo_does_not_remove_the_data_of_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stack.cli.require_java", lambda: None)
    one = local(tmp_path)
    Demo.of(one).filled.touch()
    (tmp_path / "kafka").mkdir()
    with pytest.raises(
        StackError, match=r"has the data of `make up`, .*remove it by `make clean`, or name another folder"
    ):
        run_demo(one)
    assert (tmp_path / "kafka").exists()


def test_connector_of_avro_differs_in_names_and_converter_alone() -> None:
    plain, avro = (
        json.loads((ROOT / "dags" / folder / f"{name}.json").read_text())["config"]
        for folder, name in (("connectors", "pizzas-on-ice"), ("connectors-avro", "pizzas-in-avro"))
    )
    assert {key for key in plain.keys() & avro.keys() if plain[key] != avro[key]} == {
        "topics",
        "iceberg.tables",
        "value.converter",
    }
    assert (avro["topics"], avro["iceberg.tables"]) == (avro_orders.TOPIC, "rpc.pizzas_in_avro")
    assert plain.keys() ^ avro.keys() == {"value.converter.schemas.enable", "value.converter.schema.registry.url"}


def test_registry_of_running_stack_without_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = local(tmp_path, REGISTRY="1")
    monkeypatch.setattr(Airflow, "running", True)
    with pytest.raises(StackError, match="running without a schema registry: run `make down`"):
        up(one)


def test_empty_stack_has_connectors_of_its_own_until_the_wipe(tmp_path: Path) -> None:
    asked = local(tmp_path, EMPTY="1")
    asked.require_empty()
    assert asked.connectors == tmp_path / "connectors"
    assert local(tmp_path).connectors == ROOT / "dags" / "connectors"
    asked.empty_mark.touch()
    later = local(tmp_path)
    later.require_empty()
    assert (later.connectors, later.is_filled) == (tmp_path / "connectors", True)
    later.wipe()
    assert not local(tmp_path).is_empty


def test_empty_stack_is_none_with_the_demos_records(tmp_path: Path) -> None:
    Demo.of(local(tmp_path)).filled.touch()
    with pytest.raises(StackError, match="has the demo's connector and records: remove them by `make clean`, or name"):
        local(tmp_path, EMPTY="1").require_empty()
    local(tmp_path).require_empty()


def test_port_of_a_later_part_is_asked_for_before_any_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        one = local(
            tmp_path, AIRFLOW_PORT=str(port), KAFKA_PORT=str(free_port()), KAFKA_CONTROLLER_PORT=str(free_port())
        )
        with pytest.raises(PortTaken, match=f"port {port} is in use .* set AIRFLOW_PORT to a free port"):
            one.start()
    assert not (tmp_path / "kafka").exists() and capsys.readouterr().out == ""


def test_full_disk_is_named_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stack.settings.shutil.disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    with pytest.raises(StackError, match=r"has 1 MB free, and the stack needs 500 MB .* another disk by FLOE_STATE"):
        local(tmp_path / "new" / "folder").start()
    assert not (tmp_path / "new").exists()
