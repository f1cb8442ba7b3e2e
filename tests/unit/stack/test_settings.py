"""Settings come from one environment variable each, and errors name it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from stack.exceptions import PortTaken, StackError
from stack.settings import REPOSITORY, Settings, free_port, require_free


def test_without_variables_the_defaults_hold() -> None:
    settings = Settings.read({})
    assert settings.state == REPOSITORY / ".floe"
    assert settings.jars == REPOSITORY / ".floe" / "jars"
    assert settings.dags == REPOSITORY / "dags"
    assert (settings.kafka_port, settings.controller_port, settings.airflow_port) == (9092, 9093, 8080)
    assert (settings.registry, settings.registry_port) == (False, 8081)
    assert (settings.on_s3, settings.s3_port) == (False, 9000)


def test_demo_is_left_out_by_1() -> None:
    assert Settings.read({"EMPTY": "1"}).empty
    assert not Settings.read({}).empty


def test_an_empty_variable_is_as_good_as_none() -> None:
    assert Settings.read({"KAFKA_PORT": "", "FLOE_STATE": ""}) == Settings.read({})


def test_each_variable_changes_what_it_names(tmp_path: Path) -> None:
    settings = Settings.read({"FLOE_STATE": str(tmp_path), "KAFKA_PORT": "19092", "AIRFLOW_PORT": "18080"})
    assert settings.bootstrap == "127.0.0.1:19092"
    assert settings.airflow_port == 18080
    assert settings.catalog_uri == f"sqlite:///{tmp_path}/catalog.db"
    assert settings.warehouse == tmp_path / "warehouse"
    assert settings.jars == REPOSITORY / ".floe" / "jars", "another stack has the same jars"


@pytest.mark.parametrize(("text", "is_on"), [("1", True), ("0", False), ("", False)])
def test_registry_is_switched_on_by_1(text: str, *, is_on: bool) -> None:
    assert Settings.read({"REGISTRY": text}).registry is is_on


def test_registry_that_is_neither_0_nor_1_is_an_error() -> None:
    with pytest.raises(StackError, match="REGISTRY='yes' is neither 0 nor 1"):
        Settings.read({"REGISTRY": "yes"})


@pytest.mark.parametrize(("text", "is_on"), [("s3", True), ("", False)])
def test_store_is_switched_on_by_its_name(text: str, *, is_on: bool) -> None:
    settings = Settings.read({"STORE": text, "S3_PORT": "19000"})
    assert (settings.on_s3, settings.s3_port) == (is_on, 19000)


def test_store_of_another_name_is_an_error() -> None:
    with pytest.raises(StackError, match="STORE='gcs' is not a store: set it to s3"):
        Settings.read({"STORE": "gcs"})


@pytest.mark.parametrize("text", ["x", "0", "65536", "-1", "9092 "])
def test_a_port_that_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(StackError, match=r"AIRFLOW_PORT=.* is not a port"):
        Settings.read({"AIRFLOW_PORT": text})


def test_port_in_use_is_named_with_its_variable() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(PortTaken, match=rf"port {port} is in use .* set KAFKA_PORT"):
            require_free(port, "KAFKA_PORT")


def test_a_free_port_passes() -> None:
    require_free(free_port(), "KAFKA_PORT")


@pytest.mark.parametrize(("first", "last"), [(32_768, 60_999), (15_000, 61_000), (1_024, 65_000)])
def test_free_port_is_outside_the_ephemeral_range(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int, last: int
) -> None:
    given = tmp_path / "range"
    given.write_text(f"{first}\t{last}\n")
    monkeypatch.setattr("stack.settings.GIVEN", given)
    assert not any(first <= free_port() <= last for _ in range(30))


def test_unknown_ephemeral_range_falls_back_to_the_usual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stack.settings.GIVEN", tmp_path / "none")
    assert all(free_port() < 32_768 for _ in range(30))


def test_free_port_exists_when_all_ports_are_ephemeral(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "range"
    given.write_text("1024\t65535\n")
    monkeypatch.setattr("stack.settings.GIVEN", given)
    require_free(free_port(), "KAFKA_PORT")
