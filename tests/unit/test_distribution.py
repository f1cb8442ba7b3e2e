"""floe as a distribution: what it tells Airflow, its public names, and another owner of its import name."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import airflow
import jsonschema
import pytest
from airflow.sdk import Asset

import floe
from floe import airflow_provider
from floe.airflow_provider import DISTRIBUTION, OPTIONS, check_import_name, get_provider_info
from floe.airflow_settings import use_airflow_settings
from floe.cli import airflow_command
from floe.doctor.java import SPARK
from floe.operators.dags.asset_uris import create_asset


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment of this test's own: what is called here sets variables of its process."""
    monkeypatch.setattr(os, "environ", os.environ.copy())


def test_provider_is_as_airflow_wants_it() -> None:
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(get_provider_info(), schema)


def test_entry_points_are_installed() -> None:
    found = {(one.group, one.name): one.load() for one in metadata.distribution(DISTRIBUTION).entry_points}
    assert found["apache_airflow_provider", "provider_info"] is get_provider_info
    assert found["airflow.plugins", "floe"].name == "floe"
    assert callable(found["console_scripts", "floe"])


def test_version_is_one() -> None:
    assert metadata.version(DISTRIBUTION) == floe.__version__ == get_provider_info()["versions"][0]


@pytest.mark.parametrize("name", floe.__all__)
def test_public_names_are_documented(name: str) -> None:
    assert getattr(floe, name).__doc__


def test_public_names_are_typed() -> None:
    stub = Path(floe.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert sorted(re.findall(r"import \w+ as (\w+)", stub)) == sorted(floe.__all__)


def test_there_is_no_other_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'sink'"):
        floe.sink  # noqa: B018


# -- settings ---------------------------------------------------------------------------------------------------------


def test_settings_of_airflow_are_taken_where_no_variable_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OPTIONS:
        monkeypatch.setenv(f"FLOE_{name.upper()}", "")
        monkeypatch.delenv(f"FLOE_{name.upper()}")
    monkeypatch.setenv("AIRFLOW__FLOE__CONNECTORS_DIR", "/etc/connectors")
    monkeypatch.setenv("AIRFLOW__FLOE__EXTENSIONS", "acme-floe")
    monkeypatch.setenv("FLOE_EXTENSIONS", "mine")
    use_airflow_settings()
    assert os.environ["FLOE_CONNECTORS_DIR"] == "/etc/connectors"
    assert os.environ["FLOE_EXTENSIONS"] == "mine"
    assert "FLOE_SECRET_KEY" not in os.environ


def test_connectors_and_settings_are_those_of_airflow_cfg(tmp_path: Path) -> None:
    text = "[core]\ndags_folder = /srv/dags\n[floe]\nextensions = acme-floe\n"
    (tmp_path / "airflow.cfg").write_text(text)
    code = (
        "import os; from floe.airflow_settings import connectors_of_airflow, use_airflow_settings; use_airflow_settings(); "
        "print(connectors_of_airflow(), os.environ['FLOE_EXTENSIONS'])"
    )
    environ = {"PATH": os.environ["PATH"], "AIRFLOW_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "/srv/dags/connectors acme-floe"


# -- assets -----------------------------------------------------------------------------------------------------------


def test_asset_of_a_table_is_the_one_that_its_dag_names() -> None:
    assert create_asset(catalog="lake", table="db.inner.t").uri == "iceberg://lake/db.inner/t"


@pytest.mark.parametrize("uri", ["iceberg://lake/t", "iceberg:///db/t", "iceberg://lake/db/t/u", "iceberg://lake/db/"])
def test_uri_that_names_no_table_is_refused(uri: str) -> None:
    with pytest.raises(ValueError, match="iceberg://catalog/namespace/table"):
        Asset(uri)


# -- another owner of the package -------------------------------------------------------------------------------------


def test_another_distribution_over_this_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    check_import_name()
    monkeypatch.setattr(floe, "__version__", "7.1")
    monkeypatch.setattr(airflow_provider, "packages_distributions", lambda: {"floe": ["floe", DISTRIBUTION]})
    with pytest.raises(
        ImportError, match=r"others that install a package floe: floe\. .*Uninstall floe and .*FLOE-101"
    ):
        check_import_name()


def test_checkout_on_the_path_needs_no_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> str:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(airflow_provider, "version", missing)
    monkeypatch.setattr(floe, "__version__", "7.1")
    check_import_name()


# -- Airflow's command line -------------------------------------------------------------------------------------------


def test_commands_are_those_of_floe(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = airflow_command.commands()
    assert command.name == "floe"
    parser = argparse.ArgumentParser()
    for arg in command.args:
        arg.add_to_parser(parser)
    options: Any = parser.parse_args(["keys", "commit.interval"])
    with pytest.raises(SystemExit) as ended:
        command.func(options)
    assert ended.value.code == 0
    assert "iceberg.control.commit.interval-ms" in capsys.readouterr().out


def test_spark_that_doctor_asks_for_is_the_one_that_is_required() -> None:
    (spark,) = (one for one in metadata.requires(DISTRIBUTION) or () if one.startswith("pyspark="))
    assert spark.startswith(f"pyspark=={SPARK}.")
