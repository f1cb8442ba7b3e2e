"""The local stack's own secrets: made up once for each state folder, readable by its owner only."""

import stat
from pathlib import Path

import pytest

from floe.model.plan_seal import DeploymentKey
from stack.services.airflow import Airflow

NAME = "FLOE_SECRET_KEY"


def airflow(folder: Path) -> Airflow:
    folder.mkdir(exist_ok=True)
    return Airflow(folder, 8080, folder, folder)


def test_deployment_key_is_made_once_for_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(NAME, raising=False)
    first = airflow(tmp_path / "a").environment()[NAME]
    assert first == airflow(tmp_path / "a").environment()[NAME]
    assert first != airflow(tmp_path / "b").environment()[NAME]
    assert DeploymentKey.of(first, NAME).secrets == (first.encode(),)
    assert stat.S_IMODE((tmp_path / "a" / "floe.secret").stat().st_mode) == 0o600


def test_deployment_key_of_the_environment_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NAME, "given")
    assert airflow(tmp_path / "a").environment()[NAME] == "given"
    assert not (tmp_path / "a" / "floe.secret").exists()
