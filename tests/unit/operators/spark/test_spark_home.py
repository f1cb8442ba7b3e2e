"""Spark's folder is named where spark-submit would find the same one, and nowhere else."""

import sys
from pathlib import Path

import pytest

from floe.operators.spark.spark_home import HOME, SUBMIT, home_of_submit, spark_home

BESIDE_PYTHON = str(Path(sys.executable).parent)


def test_home_is_the_one_that_spark_submit_finds() -> None:
    import subprocess

    found = home_of_submit({"PATH": BESIDE_PYTHON}, SUBMIT)
    script = Path(BESIDE_PYTHON, "find_spark_home.py")
    said = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env={})
    assert found == {HOME: said.stdout.strip()}


def test_home_that_is_set_stays() -> None:
    assert home_of_submit({"PATH": BESIDE_PYTHON, HOME: "/opt/spark"}, SUBMIT) == {}
    assert spark_home({HOME: "/opt/spark"}) == Path("/opt/spark")


def test_spark_submit_of_another_distribution_finds_its_own(tmp_path: Path) -> None:
    (tmp_path / SUBMIT).write_text("#!/bin/sh\n")
    (tmp_path / SUBMIT).chmod(0o755)
    assert home_of_submit({"PATH": f"{tmp_path}:{BESIDE_PYTHON}"}, SUBMIT) == {}
    assert home_of_submit({"PATH": str(tmp_path / "none")}, SUBMIT) == {}
    assert home_of_submit({"PATH": BESIDE_PYTHON}, "spark3-submit") == {}


@pytest.mark.parametrize("what", ["spark-distribution", "no jars"])
def test_pyspark_that_is_not_the_one_is_left_to_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    package = tmp_path / "pyspark"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "bin" / SUBMIT).touch()
    (package / "jars").mkdir()
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    assert home_of_submit({"PATH": BESIDE_PYTHON}, SUBMIT) == {HOME: str(package)}
    if what == "no jars":
        (package / "jars").rmdir()
    else:
        (package / what).mkdir()
    assert home_of_submit({"PATH": BESIDE_PYTHON}, SUBMIT) == {}
