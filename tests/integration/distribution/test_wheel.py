"""The wheel in an environment of its own, beside Airflow: what it has, what Airflow finds, what Spark's workers get."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.repository import ROOT

AIRFLOW = ("python", "-m", "airflow")
DAGS = """from floe import connector_dags  # Airflow's DAGs of all connectors

globals().update(connector_dags())
"""
ARCHIVE = """
from pathlib import Path
import floe, floe_job
from floe.operators.spark import code_archive
print(floe.__file__, floe_job.__file__, code_archive.application().is_file(), repr(code_archive.python_path()))
print(code_archive.archive(Path(".")).stat().st_size)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of wheel and sdist; the wheel is built of the sdist, as by the index's tools."""
    folder = tmp_path_factory.mktemp("dist")
    _run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "-q",
        "--target",
        str(folder / "build"),
        "build",
        "-c",
        "constraints.txt",
    )
    environ = {**os.environ, "PYTHONPATH": str(folder / "build")}
    _run(sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT), env=environ)
    return folder


@pytest.fixture(scope="module")
def place(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the wheel, and finds this one's other packages behind it."""
    folder = tmp_path_factory.mktemp("place")
    _run(sys.executable, "-m", "venv", str(folder / "venv"))
    (wheel,) = built.glob("*.whl")
    _run(str(folder / "venv" / "bin" / "pip"), "install", "-q", "--no-deps", str(wheel))
    (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
    (site / "others.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    connectors = folder / "airflow" / "dags" / "connectors"
    connectors.mkdir(parents=True)
    (connectors / "pizzas.json").write_bytes((ROOT / "dags" / "connectors" / "pizzas-on-ice.json").read_bytes())
    (connectors.parent / "floe_dags.py").write_text(DAGS)
    return folder


def _run(*command: str, **options: object) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, done.stdout + done.stderr
    return str(done.stdout)


def run(place: Path, *command: str) -> str:
    """Run a command of the environment, with an Airflow of its own."""
    environ = {
        "PATH": f"{place / 'venv' / 'bin'}{os.pathsep}{os.defpath}",
        "HOME": str(place),
        "AIRFLOW_HOME": str(place / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "FLOE_CACHE_DIR": "",
    }
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=place, env=environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def listed(place: Path, *command: str) -> list[dict[str, str]]:
    """Return the rows of one of Airflow's commands, which is the last line of its output."""
    last = run(place, *AIRFLOW, *command, "--output", "json").splitlines()[-1]
    return list(json.loads(last)) if last.startswith("[{") else []


def test_wheel_has_both_packages_and_all_that_is_no_code(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"floe/py.typed", "floe/__init__.pyi", "floe_job/py.typed", "floe_job/application/write_files.py"} <= names
    for folder, package in ((ROOT / "plugins" / "floe", "floe"), (ROOT / "spark_jobs" / "floe_job", "floe_job")):
        files = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        missing = {f"{package}/{path.relative_to(folder).as_posix()}" for path in files} - names
        assert not missing
    assert {name.partition("/")[0] for name in names} == {"floe", "floe_job", "airflow_provider_floe-0.1.0.dist-info"}


def test_sdist_has_what_the_wheel_is_built_of_and_no_tests(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"pyproject.toml", "LICENSE", "plugins/floe/api/page/index.html", "dags/sink.py"} <= names
    assert not [name for name in names if name.startswith(("tests/", "bench/", "stack/"))]


def test_command_line_checks_a_connector(place: Path) -> None:
    assert "pizzas.json" in run(place, "floe", "check", "airflow/dags/connectors")


def test_airflow_finds_provider_plugin_and_dags(place: Path) -> None:
    run(place, *AIRFLOW, "db", "migrate")
    providers = listed(place, "providers", "list")
    assert [one["version"] for one in providers if one["package_name"] == "airflow-provider-floe"] == ["0.1.0"]
    plugins = listed(place, "plugins")
    (source,) = (one["source"] for one in plugins if one["name"] == "floe")
    assert source.startswith("airflow-provider-floe==0.1.0: EntryPoint(name='floe'")
    run(place, *AIRFLOW, "dags", "reserialize")
    dags = listed(place, "dags", "list")
    assert {one["dag_id"] for one in dags} == {"pizzas-on-ice", "pizzas-on-ice.replay", "floe.status"}
    assert listed(place, "dags", "list-import-errors") == []


def test_airflow_shows_the_settings(place: Path) -> None:
    assert "connectors_dir" in run(place, *AIRFLOW, "config", "list", "--section", "floe")
    assert "iceberg.control.commit.interval-ms" in run(place, *AIRFLOW, "floe", "keys", "commit.interval")


def test_archive_is_made_of_what_is_installed(place: Path) -> None:
    where, size = run(place, "python", "-c", ARCHIVE).splitlines()
    assert where.count(str(place / "venv")) == 2
    assert where.endswith("True ''")
    assert int(size) < 1_500_000
