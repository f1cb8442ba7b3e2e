"""Catalogs of Java's library, opened with the keys of a connector: jars, classes and settings."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from stack import jars
from tests.support.catalogs import CatalogLake
from tests.support.metastores.nessie import NessieLake

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DRIVERS = ("org.postgresql:postgresql:42.7.8", "org.xerial:sqlite-jdbc:3.50.3.0")
AWS = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
IMPLEMENTATIONS = {
    "jdbc": "org.apache.iceberg.jdbc.JdbcCatalog",
    "rest": "org.apache.iceberg.rest.RESTCatalog",
    "hive": "org.apache.iceberg.hive.HiveCatalog",
    "hadoop": "org.apache.iceberg.hadoop.HadoopCatalog",
    "glue": "org.apache.iceberg.aws.glue.GlueCatalog",
    "nessie": "org.apache.iceberg.nessie.NessieCatalog",
}
"""Classes by the catalog's type."""
AWS_LOGIN = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest", "AWS_REGION": "us-east-1"}
"""What Glue's client of Java takes from the environment alone."""


def beside_runtime() -> list[Path]:
    """Return the jars of databases' drivers and of AWS."""
    return [path for one in (*DRIVERS, AWS) for path in jars.resolve([one], transitive=False)]


def sparks() -> list[Path]:
    """Return Iceberg's runtime with all jars of Spark, Hive's client among them."""
    spec = importlib.util.find_spec("pyspark")
    assert spec is not None
    folders = spec.submodule_search_locations or []
    return [
        *jars.resolve([RUNTIME], transitive=False),
        *(jar for one in folders for jar in sorted(Path(one, "jars").glob("*.jar"))),
    ]


def java_settings(lake: CatalogLake) -> dict[str, str]:
    """Return the catalog's settings of the lake's connector: they are Java's, but for SQLite's address."""
    start = "iceberg.catalog."
    given: Mapping[str, object] = lake.connector().properties
    found = {key.removeprefix(start): str(value) for key, value in given.items() if key.startswith(start)}
    if found["type"] == "sql":
        found |= {"type": "jdbc", "uri": found["uri"].replace("sqlite:///", "jdbc:sqlite:file:")}
    if found["type"] in ("glue", "nessie"):
        found |= {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "s3.path-style-access": "true"}
    if found["type"] == "hadoop":
        found.pop("uri", None)
    if isinstance(lake, NessieLake) and lake.server is not None:
        found["uri"] = (
            f"{lake.server.uri}/api/v1"  # Java's client sends chunks, which the proxy before it does not take
        )
    return found
