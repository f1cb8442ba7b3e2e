"""What a local job is given, and what of it the user may change."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.operators.spark import local_mode

WITHOUT_ARCHIVE = {"FLOE_CACHE_DIR": ""}


def test_spark_keeps_its_files_in_the_jobs_folder(tmp_path: Path) -> None:
    with local_mode.settings(tmp_path, {}, WITHOUT_ARCHIVE | {"A": "b"}) as (conf, env):
        assert conf == local_mode.CONF
        assert env["A"] == "b"
        assert env["SPARK_LOCAL_DIRS"] == str(tmp_path)
        assert f"-Djava.io.tmpdir={tmp_path}" in env["SPARK_SUBMIT_OPTS"]


def test_what_the_user_has_set_wins(tmp_path: Path) -> None:
    own = WITHOUT_ARCHIVE | {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=4 -XX:+UseG1GC"}
    with local_mode.settings(tmp_path, {"spark.local.dir": "/disk", "spark.ui.enabled": "true"}, own) as (conf, env):
        assert conf["spark.ui.enabled"] == "true"
        assert "SPARK_LOCAL_DIRS" not in env
        options = env["SPARK_SUBMIT_OPTS"].split()
        assert options.index("-XX:TieredStopAtLevel=4") > options.index("-XX:TieredStopAtLevel=1")
        assert local_mode.COLLECTOR not in options  # a JVM with two collectors does not start
    with local_mode.settings(tmp_path, {"spark.driver.extraJavaOptions": "-XX:+UseZGC"}, WITHOUT_ARCHIVE) as (_, env):
        assert local_mode.COLLECTOR not in env["SPARK_SUBMIT_OPTS"]


@pytest.mark.parametrize(
    ("conf", "is_named"),
    [
        ({}, True),
        ({"spark.python.daemon.module": "pyspark.daemon"}, False),
        ({"spark.python.use.daemon": "false"}, False),
        ({"spark.executorEnv.TZ": "UTC"}, False),
    ],
)
def test_a_fork_is_asked_for_where_it_can_be_the_daemon(tmp_path: Path, conf: dict[str, str], is_named: bool) -> None:
    with local_mode.settings(tmp_path, conf, WITHOUT_ARCHIVE) as (_, env):
        assert ("FLOE_DAEMON_SOCKET" in env) is is_named


def test_pandas_is_left_out_where_no_code_of_the_user_runs(tmp_path: Path) -> None:
    with local_mode.settings(tmp_path, {}, WITHOUT_ARCHIVE, has_own_code=False) as (_, env):
        assert env[local_mode.WITHOUT_PANDAS] == "true"
    with local_mode.settings(tmp_path, {}, WITHOUT_ARCHIVE) as (_, env):
        assert local_mode.WITHOUT_PANDAS not in env
