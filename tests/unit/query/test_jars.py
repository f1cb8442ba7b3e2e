"""Where a query's jars are found, and what is said where one is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from floe.config.connection_fields import ConnectionFields
from floe.query.catalog import DRIVERS, RUNTIME
from floe.query.exceptions import QueryRefused
from floe.query.session import found_jars, jar_places

NAME = "iceberg-spark-runtime-4.1_2.13-1.12.0.jar"


def spark(**conf: object) -> ConnectionFields:
    return ConnectionFields("spark_default", extra={"conf": conf})


def jar(folder: Path, name: str = NAME) -> Path:
    folder.mkdir(exist_ok=True)
    made = folder / name
    made.touch()
    return made


def test_places_are_those_of_sparks_jobs(tmp_path: Path) -> None:
    conf = {"spark.jars": "file:///a/x.jar, /b/y.jar", "spark.driver.extraClassPath": "/c/*:/d/z.jar", "spark.x": "1"}
    *found, last = jar_places(spark(**conf), {"SPARK_HOME": str(tmp_path)})
    assert found == [Path("/a/x.jar"), Path("/b/y.jar"), Path("/c"), Path("/d/z.jar"), tmp_path / "jars"]
    assert last.name == "jars" and last.parent.name == "pyspark"
    assert jar_places(None, {}) == jar_places(spark(**{"spark.jars": 7}), {}) == [last]


def test_jars_of_the_caller_count_before_others(tmp_path: Path) -> None:
    own, other = jar(tmp_path / "own", "iceberg-spark-runtime-4.1_2.13-1.11.0.jar"), jar(tmp_path / "other")
    more = jar(tmp_path / "own", "udf.jar")
    assert found_jars([RUNTIME], [tmp_path / "own"], [other.parent]) == [own, more]
    assert found_jars([RUNTIME], [more], [other.parent]) == [more, other]
    assert found_jars([RUNTIME], [], [other]) == [other]


def test_jars_that_are_missing_are_named_with_coordinates(tmp_path: Path) -> None:
    jar(tmp_path / "jars", "iceberg-spark-runtime-4.1_2.13-sources.jar")
    with pytest.raises(QueryRefused) as raised:
        found_jars([RUNTIME, DRIVERS["jdbc:postgresql:"]], [], [tmp_path / "jars"])
    message = str(raised.value)
    assert message.startswith(f"jars for Spark are missing: {NAME}, postgresql-42.7.8.jar. No statement was run.")
    assert f"Get {RUNTIME} and " in message and "of Maven Central" in message
    assert "--jars FOLDER" in message


def test_place_of_the_caller_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(QueryRefused, match=r"no .*none.jar'"):
        found_jars([RUNTIME], [tmp_path / "none.jar"], [])
