"""What spark-submit gets, whatever the master is: its arguments and its environment have no key and no login."""

from __future__ import annotations

import json
import stat
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks import spark_submit

from floe.operators import write as write_module
from floe.operators.exceptions import ConnectionUnsuitable
from floe.operators.write import WriteFilesOperator
from tests.support.tables.lake import Lake

SECRETS = {
    "FLOE_SECRET_KEY": "canary-deployment-key-0123456789abcdef",
    "AIRFLOW_CONN_FLOE_DEFAULT": "floe://:canary-deployment-key-of-a-connection@",
    "AIRFLOW__CORE__FERNET_KEY": "canary-fernet-key",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://airflow:canary-database@db/airflow",
    "AIRFLOW__API_AUTH__JWT_SECRET": "canary-jwt",
    "AIRFLOW__CELERY__BROKER_URL": "redis://:canary-broker@redis",
    "AIRFLOW_CONN_OTHERS": "http://someone:canary-others@host",
    "AIRFLOW_VAR_TOKEN": "canary-variable",
    "_AIRFLOW_WWW_USER_PASSWORD": "canary-admin",
}
STAND_IN = """#!{python}
import json, os, sys
with open({record!r}, "w") as file:
    json.dump([sys.argv, dict(os.environ)], file)
"""
MASTERS = {
    "local": {"host": "local[2]"},
    "standalone": {"host": "spark://127.0.0.1", "port": 7077},
    "yarn": {"host": "yarn"},
    "kubernetes": {"host": "k8s://https://kubernetes.default", "port": 443, "extra": {"namespace": "floe"}},
}


class Submitted:
    """Submits to a stand-in of spark-submit, and has what that got."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._record = folder / "record.json"
        stand_in = folder / "spark3-submit"
        stand_in.write_text(STAND_IN.format(python=sys.executable, record=str(self._record)))
        stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder), prepend=":")
        monkeypatch.setenv("FLOE_CACHE_DIR", "")
        monkeypatch.setattr(spark_submit, "kube_client", object(), raising=False)  # of a provider that is not installed
        monkeypatch.setattr(write_module, "write_guard", lambda *_: nullcontext())
        for name, value in SECRETS.items():
            monkeypatch.setenv(name, value)
        self._monkeypatch = monkeypatch
        self._connector = Lake(folder).connector()

    def submit(self, connection: dict[str, Any], **kwargs: Any) -> tuple[list[str], dict[str, str]]:
        """Return arguments and environment."""
        extra = {**connection.get("extra", {}), "spark-binary": "spark3-submit"}
        self._monkeypatch.setenv(
            "AIRFLOW_CONN_SPARK_DEFAULT", json.dumps({"conn_type": "spark", **connection, "extra": extra})
        )
        spark = SimpleNamespace(
            conn_id="spark_default",
            conn_type=connection.get("conn_type", "spark"),
            host=connection["host"],
            port=connection.get("port"),
            extra_dejson=extra,
        )
        write = WriteFilesOperator(task_id="write", connector=self._connector, **kwargs)
        request = SimpleNamespace(connector=self._connector, save=lambda path: path.touch(0o600))
        job = SimpleNamespace(SliceMark=SimpleNamespace(of=lambda _: SimpleNamespace(get=lambda: None)))
        write._submit({}, spark, request, job, {})  # type: ignore[arg-type]
        argv, environment = json.loads(self._record.read_text())
        return argv, environment


@pytest.fixture
def submitted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Submitted:
    return Submitted(tmp_path, monkeypatch)


@pytest.mark.parametrize("master", MASTERS)
@pytest.mark.parametrize("own", [{}, {"env_vars": {"HADOOP_USER_NAME": "floe"}}], ids=["", "own variables"])
def test_spark_submit_gets_no_key_by_any_master(submitted: Submitted, master: str, own: dict[str, Any]) -> None:
    argv, environment = submitted.submit(MASTERS[master], **own)
    found = [name for name in environment if "canary" in environment[name]]
    assert not found, "the driver would have them, and its workers"
    assert not [part for part in argv if "canary" in part]
    assert not [part for part in argv if ".driverEnv." in part or ".appMasterEnv." in part]
    assert environment["PYTHONPATH"]
    assert environment["PYSPARK_DRIVER_PYTHON"] == sys.executable
    assert environment.items() >= own.get("env_vars", {}).items()
    assert argv[argv.index("--deploy-mode") + 1] == "client"


@pytest.mark.parametrize(("master", "is_given"), [("local", True), ("yarn", True), ("kubernetes", False)])
def test_workers_python_is_the_images_on_kubernetes(submitted: Submitted, master: str, is_given: bool) -> None:
    _, environment = submitted.submit(MASTERS[master])
    assert ("PYSPARK_PYTHON" in environment) is is_given


@pytest.mark.parametrize(
    "extra", [{"deploy-mode": "cluster"}, {"conf": {"spark.submit.deployMode": " Cluster"}}], ids=["extra", "conf"]
)
def test_cluster_mode_is_refused_wherever_it_is_asked_for(submitted: Submitted, extra: dict[str, Any]) -> None:
    with pytest.raises(ConnectionUnsuitable, match="cluster"):
        submitted.submit({"host": "yarn", "extra": extra})
