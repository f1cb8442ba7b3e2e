"""Connectors named by file, folder and name, and those that are in Airflow's variables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from floe.cli import connectors
from floe.cli.connectors import find_connectors, folder_of
from floe.cli.output import UsageError
from tests.support.connectors import MINIMAL


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("pizzas", "calzones"):
        (tmp_path / f"{name}.json").write_text(json.dumps({**MINIMAL, "name": name}))
    (tmp_path / "broken.json").write_text("{")
    monkeypatch.setenv("FLOE_CONNECTORS_DIR", str(tmp_path))
    monkeypatch.delenv("AIRFLOW_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def names(*asked: str, folder: Path | None = None) -> list[str]:
    return [file.name for file in find_connectors(asked, folder)]


def test_connectors_are_found_by_name_file_and_folder(folder: Path) -> None:
    assert names("pizzas") == names(f"{folder}/pizzas.json") == ["pizzas"]
    assert names() == names(str(folder)) == ["broken", "calzones", "pizzas"]
    assert names("broken", folder=folder) == ["broken"]


def test_folder_is_given_or_of_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert folder_of(Path("other")) == Path("other") and folder_of(None) == folder
    monkeypatch.delenv("FLOE_CONNECTORS_DIR")
    of_home = tmp_path / "home" / "dags" / "connectors"
    of_home.mkdir(parents=True)
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path / "home"))
    assert folder_of(None) == of_home


def test_unknown_name_says_which_there_are(folder: Path) -> None:
    with pytest.raises(UsageError, match=r"no connector 'x' in .* \(there: broken, calzones, pizzas\)"):
        names("x")
    with pytest.raises(UsageError, match="there is no folder of connectors"):
        names(folder=folder / "none")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (json.dumps({"name": "made", "config": MINIMAL, "floe": {}}), None),
        ("{", "no connector in JSON"),
        ("[]", "no connector in JSON"),
        (json.dumps({"config": {"topics": "t"}}), "Must specify table name"),
    ],
)
def test_connector_made_by_rest_is_read_from_its_variable(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str | None
) -> None:
    monkeypatch.setattr(connectors, "variable", {"floe.connector.made": text}.get)
    (file,) = find_connectors(["made"], None)
    assert file.name == "made"
    if problem is None:
        assert file.connector is not None and file.connector.name == "made"
    else:
        assert file.connector is None and problem in str(file.error) and "Airflow variable" in str(file.error)
