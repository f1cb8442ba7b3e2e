"""Spark, Java, Python, packages, clocks and disks of this machine: good ones and bad ones."""

from __future__ import annotations

import sys
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path

import pytest

from floe.airflow_provider import DISTRIBUTION
from floe.config.connection_fields import ConnectionFields
from floe.doctor import host, java
from floe.doctor.brokers import find_clocks
from floe.doctor.check import Case, Clock
from floe.doctor.host import find_packages, find_room
from floe.doctor.java import find_java, find_python
from floe.doctor.spark import find_master, server_of
from tests.support.extensions import list_extensions
from tests.support.kafka.doctor_case import Reply, as_broker, case_of, closed_port, found, levels, listening


def as_grpc(_: bytes) -> bytes:
    """Answer with the settings that begin HTTP/2."""
    return b"\0\0\0\4\0\0\0\0\0"


def with_spark(conn_type: str, host: str = "", port: int | None = None, **extra: object) -> Case:
    case = case_of()
    case.spark = ConnectionFields("spark_default", conn_type, host, port=port, extra=extra)
    return case


@pytest.mark.parametrize(
    ("conn_type", "host", "port", "server"),
    [
        ("spark_connect", "sc", None, ("sc", 15002)),
        ("spark_connect", "sc://sc", 15003, ("sc", 15003)),
        ("spark_connect", "sc://sc:15004", None, ("sc", 15004)),
        ("spark_connect", "", 15002, None),
        ("spark", "master", 7078, ("master", 7078)),
        ("spark", "", 7078, None),
        ("spark", "spark://", None, None),
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
    with listening(as_grpc) as port:
        assert levels(found(find_master, with_spark("spark_connect", "127.0.0.1", port))) == ["ok"]
        assert levels(found(find_master, with_spark("spark", "spark://127.0.0.1", port))) == ["ok"]
    (one,) = found(find_master, with_spark("spark", "spark://127.0.0.1", closed_port()))
    assert one.is_problem and "Connection refused" in one.text


@pytest.mark.parametrize(
    ("reply", "extra"),
    [
        (lambda _: b"HTTP/1.1 400 Bad Request\r\n", {}),
        (lambda _: None, {}),
        (as_grpc, {"use_ssl": True}),
        (as_broker, {"use_ssl": "true"}),
    ],
)
def test_server_that_is_no_connect_server_is_a_problem(reply: Reply, extra: dict[str, object]) -> None:
    with listening(reply) as port:
        (one,) = found(find_master, with_spark("spark_connect", "127.0.0.1", port, **extra))
    assert one.is_problem and "is no Connect server with" in one.text and "use_ssl" in one.remedy


@pytest.mark.parametrize("host", ["", "lokal[2]", "spark://", "local[]"])
def test_host_that_is_no_master_is_a_problem(host: str) -> None:
    (one,) = found(find_master, with_spark("spark", host))
    assert one.is_problem and repr(host) in one.text


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
    monkeypatch.setattr(java.shutil, "which", lambda *_, **__: "/usr/bin/java")
    monkeypatch.setattr(java, "_said", lambda *_: said)
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
    assert found(find_java, case)[1].text.endswith("has Spark 3.5 for Scala 2.13")
    (tmp_path / "jars" / "spark-core_2.12-4.1.3.jar").touch()
    assert "has Spark 3.5 for Scala 2.13, 4.1 for Scala 2.12" in found(find_java, case)[1].text


@pytest.mark.parametrize(
    ("script", "text"),
    [("#!/bin/sh\nexec sleep 60", "does not end"), ("no program", "Exec format"), ("#!/bin/sh\n", "nothing")],
)
def test_java_that_does_not_say_its_version_is_named(
    script: str, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(java, "SECONDS", 0.5)
    (tmp_path / "java").write_text(script)
    (tmp_path / "java").chmod(0o755)
    case = case_of()
    case.environ = {"PATH": str(tmp_path)}
    one = found(find_java, case)[0]
    assert one.is_problem and "does not say its version within" in one.text and text in one.text


def test_no_java_is_needed_with_a_connect_server() -> None:
    assert levels(found(find_java, with_spark("spark_connect", "sc"))) == ["ok"]


def test_python_of_workers_has_the_drivers_version(monkeypatch: pytest.MonkeyPatch) -> None:
    here = "{}.{}".format(*sys.version_info[:2])
    assert found(find_python, with_spark("spark", "local[2]"))[0].text == f"driver and workers have Python {here}"
    assert "need" in found(find_python, with_spark("spark", "yarn"))[0].text
    conf = {"spark.pyspark.python": sys.executable}
    monkeypatch.setattr(java, "_said", lambda *_: "warning\nfloe 3.9")
    (one,) = found(find_python, with_spark("spark", "yarn", conf=conf))
    assert one.is_problem and f"driver has Python {here}, workers have 3.9" in one.text
    elsewhere = {"spark.pyspark.python": "./environment/bin/python"}
    assert levels(found(find_python, with_spark("spark", "yarn", conf=elsewhere))) == ["not checked"]


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
    def installed(name: str) -> str | None:
        return changes[name] if name in changes else metadata.version(name)

    monkeypatch.setattr(host, "_installed", installed)
    findings = found(find_packages, case_of())
    assert levels(findings) == expected
    assert all(any(name in one.text for one in findings) for name in changes if expected != ["ok"])


def test_other_owner_of_the_import_name_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "packages_distributions", lambda: {"floe": ["floe", DISTRIBUTION]})
    one = found(find_packages, case_of())[0]
    assert one.is_problem and "'floe' installs a package floe too" in one.text


def test_packages_of_a_checkout_on_the_path_are_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> list[str]:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(host, "requires", missing)
    assert levels(found(find_packages, case_of())) == ["not checked"]


def test_extension_that_is_listed_and_not_installed_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    list_extensions(monkeypatch, "acme-floe", "pytest")
    assert [one.text for one in found(find_packages, case_of())[-2:]] == [
        "FLOE_EXTENSIONS lists 'acme-floe', which is not installed in this Python",
        "FLOE_EXTENSIONS lists 'pytest', which declares nothing for floe",
    ]
    list_extensions(monkeypatch)
    assert levels(found(find_packages, case_of())) == ["ok"]


@pytest.mark.parametrize(("behind", "level"), [(0, "ok"), (29, "ok"), (45, "warning"), (-3600, "warning")])
def test_clock_that_differs_is_warned_of(behind: int, level: str) -> None:
    case = case_of(write=False)
    now = datetime.now(UTC)
    case.clocks.append(Clock("the schema registry", now - timedelta(seconds=behind), now))
    (one,) = found(find_clocks, case)
    assert one.level.value == level
    assert level == "ok" or f"{abs(behind):,} s {'behind' if behind > 0 else 'ahead of'} this" in one.text


def test_clock_of_a_server_is_named_once() -> None:
    case = case_of()
    case.clocks += [Clock("the schema registry", datetime.now(UTC), datetime.now(UTC))] * 3
    assert levels(found(find_clocks, case)) == ["ok"]


def test_disk_that_is_nearly_full_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    case = case_of(**{"iceberg.catalog.warehouse": f"file://{tmp_path}/new%20folder/warehouse"})
    case.environ = {"SPARK_LOCAL_DIRS": f"{tmp_path},/proc", "FLOE_CACHE_DIR": str(tmp_path)}
    for free, level in ((10 * 1024**3, "ok"), (1024**3, "warning"), (1024, "problem")):
        monkeypatch.setattr(host.shutil, "disk_usage", lambda _, free=free: usage(free, 0, free))
        findings = found(find_room, case)
        assert set(levels(findings)) == {level}
        assert "GiB are free in" in findings[0].text
    monkeypatch.setattr(host.shutil, "disk_usage", lambda _: usage(0, 0, 0))
    assert found(find_room, case) == []  # such as /proc
