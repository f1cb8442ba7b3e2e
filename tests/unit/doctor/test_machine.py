"""Spark, Java, Python, packages, clocks and disks of this machine: good ones and bad ones."""

from __future__ import annotations

import re
import sys
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from floe.config.connection_fields import ConnectionFields
from floe.doctor import disks, packages, spark
from floe.doctor.case import Case, Clock
from floe.doctor.clocks import find_clocks
from floe.doctor.disks import find_room
from floe.doctor.packages import OPTIONAL, PINNED, find_packages
from floe.doctor.spark import find_java, find_master, find_python, server_of
from floe.kafka.exceptions import KafkaUnreachable
from tests.support.kafka.doctor_case import FakeCluster, case_of, closed_port, found, levels, listening
from tests.support.repository import ROOT


def with_spark(conn_type: str, host: str = "", port: int | None = None, **extra: object) -> Case:
    case = case_of()
    case.spark = ConnectionFields("spark_default", conn_type, host, port=port, extra=extra)
    return case


@pytest.mark.parametrize(
    ("conn_type", "host", "port", "server"),
    [
        ("spark_connect", "sc", None, ("sc", 15002)),
        ("spark_connect", "sc://sc", 15003, ("sc", 15003)),
        ("spark", "spark://master", 7078, ("master", 7078)),
        ("spark", "spark://master", None, ("master", 7077)),
        ("spark", "spark://master:7079", None, ("master", 7079)),
        ("spark", "local[2]", None, None),
        ("spark", "yarn", None, None),
        ("spark", "k8s://https://kubernetes.default", 443, None),
    ],
)
def test_server_of_spark_is_known(conn_type: str, host: str, port: int | None, server: object) -> None:
    assert server_of(ConnectionFields("c", conn_type, host, port=port)) == server


def test_master_that_cannot_be_reached_is_a_problem() -> None:
    with listening() as port:
        assert levels(found(find_master, with_spark("spark_connect", "127.0.0.1", port))) == ["ok"]
    (one,) = found(find_master, with_spark("spark", "spark://127.0.0.1", closed_port()))
    assert one.is_problem and "Connection refused" in one.text


def test_connection_that_spark_cannot_use_is_a_problem() -> None:
    assert levels(found(find_master, case_of())) == ["not checked"]
    assert levels(found(find_master, with_spark("spark", "local[2]"))) == ["ok"]
    (one,) = found(find_master, with_spark("livy", "x"))
    assert one.is_problem and "type 'livy'" in one.text
    first, _ = found(find_master, with_spark("spark", "yarn", **{"deploy-mode": "cluster"}))
    assert first.is_problem and "cluster" in first.text


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ('openjdk version "17.0.9" 2023-10-17', "ok"),
        ('openjdk version "21" 2023-09-19', "ok"),
        ('java version "1.8.0_392"', "problem"),
        ("segmentation fault", "problem"),
    ],
)
def test_java_that_is_too_old_is_a_problem(said: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark.shutil, "which", lambda *_, **__: "/usr/bin/java")
    monkeypatch.setattr(spark, "_said", lambda *_: said)
    assert found(find_java, case_of())[0].level.value == level


def test_missing_java_is_named_by_where_it_was_looked_for(tmp_path: Path) -> None:
    case = case_of()
    case.environ = {"PATH": str(tmp_path)}
    one, jars = found(find_java, case)
    assert one.is_problem and one.text == "there is no java on PATH" and jars.level.value == "ok"
    case.environ = {"PATH": str(tmp_path), "JAVA_HOME": "/none", "SPARK_HOME": str(tmp_path)}
    one, jars = found(find_java, case)
    assert "JAVA_HOME='/none'" in one.text and jars.is_problem and "has no jars" in jars.text
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark-core_2.13-3.5.1.jar").touch()
    assert found(find_java, case)[1].text.endswith("has Spark 3.5")


def test_no_java_is_needed_with_a_connect_server() -> None:
    assert levels(found(find_java, with_spark("spark_connect", "sc"))) == ["ok"]


def test_python_of_workers_has_the_drivers_version(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "{}.{}".format(*sys.version_info[:2])
    assert found(find_python, with_spark("spark", "local[2]"))[0].text == f"driver and workers have Python {here}"
    assert "need" in found(find_python, with_spark("spark", "yarn"))[0].text
    conf = {"spark.pyspark.python": sys.executable}
    monkeypatch.setattr(spark, "_said", lambda *_: "[3, 9]")
    (one,) = found(find_python, with_spark("spark", "yarn", conf=conf))
    assert one.is_problem and f"driver has Python {here}, workers have 3.9" in one.text
    elsewhere = {"spark.pyspark.python": "./environment/bin/python"}
    assert levels(found(find_python, with_spark("spark", "yarn", conf=elsewhere))) == ["not checked"]


def test_pinned_packages_are_those_of_the_requirements() -> None:
    def pins(*names: str) -> dict[str, str]:
        lines = "\n".join((ROOT / name).read_text() for name in names)
        return dict(re.findall(r"^([\w-]+)(?:\[\S+\])?==(\S+)$", lines, re.MULTILINE))

    others = ("aws", "hive", "msk", "postgresql", "protobuf")
    assert pins("requirements.txt") == PINNED
    assert pins(*(f"requirements-{name}.txt" for name in others)) == OPTIONAL


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["ok"]),
        ({"fastavro": "1.0"}, ["warning"]),
        ({"thrift": "0.1"}, ["warning"]),
        ({"thrift": None}, ["ok"]),
        ({"fastavro": None}, ["problem"]),
        ({"apache-airflow": None}, ["not checked"]),
        ({"pyspark": "4.1.2"}, ["problem", "warning"]),
    ],
)
def test_packages_of_other_versions_are_named(
    changes: dict[str, str | None], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = {**PINNED, **OPTIONAL, **changes}
    monkeypatch.setattr(packages, "_installed", installed.get)
    findings = found(find_packages, case_of())
    assert levels(findings) == expected
    assert all(any(name in one.text for one in findings) for name in changes if expected != ["ok"])


@pytest.mark.parametrize(("behind", "level"), [(0, "ok"), (29, "ok"), (45, "warning"), (-3600, "warning")])
def test_clock_that_differs_is_warned_of(behind: int, level: str) -> None:
    case = case_of(write=False)
    now = datetime.now(UTC)
    case.clocks.append(Clock("the schema registry", now - timedelta(seconds=behind), now))
    (one,) = found(find_clocks, case)
    assert one.level.value == level
    assert level == "ok" or f"{abs(behind):,} s {'behind' if behind > 0 else 'ahead of'} this" in one.text


def test_clock_of_brokers_is_the_newest_marker() -> None:
    for seconds, expected in ((0, "ok"), (-120, "warning"), (120, "warning")):
        newest = int((datetime.now(UTC).timestamp() + seconds) * 1000)
        assert levels(found(find_clocks, case_of(FakeCluster(newest=newest)))) == [expected]
    for cluster in (FakeCluster(), FakeCluster(existing={}), FakeCluster(error=KafkaUnreachable("away"))):
        assert levels(found(find_clocks, case_of(cluster))) == ["not checked"]
    case = case_of(FakeCluster(newest=1))
    case.failed = {"login"}
    assert levels(found(find_clocks, case)) == ["not checked"]


def test_disk_that_is_nearly_full_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    case = case_of(**{"iceberg.catalog.warehouse": f"file://{tmp_path}/new%20folder/warehouse"})
    case.environ = {"SPARK_LOCAL_DIRS": f"{tmp_path},/proc", "FLOE_CACHE_DIR": str(tmp_path)}
    for free, level in ((10 * 1024**3, "ok"), (1024**3, "warning"), (1024, "problem")):
        monkeypatch.setattr(disks.shutil, "disk_usage", lambda _, free=free: usage(0, 0, free))
        findings = found(find_room, case)
        assert set(levels(findings)) == {level}
        assert "GiB are free in" in findings[0].text
