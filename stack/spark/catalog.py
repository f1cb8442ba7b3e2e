"""A catalog as Spark has it: its properties, and the jars that reach it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from floe.config import parse_connector
from floe.config.document import parse_document
from floe.config.exceptions import ConfigError
from floe.config.properties import Properties
from floe.config.providers.operator_settings import OperatorSettings
from floe.config.secrets.detection import is_reference
from floe.config.sections.catalog import CatalogSpec
from stack.exceptions import StackError

RUNTIME: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
AWS: Final = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
DRIVERS: Final[Mapping[str, str]] = {
    "jdbc:sqlite:": "org.xerial:sqlite-jdbc:3.50.3.0",
    "jdbc:postgresql:": "org.postgresql:postgresql:42.7.8",
}
"""Drivers of JDBC by the beginning of an address; Iceberg's runtime contains none."""

_CLASS: Final = "org.apache.iceberg.spark.SparkCatalog"
_SQLITE: Final = "jdbc:sqlite:"
_READ_ONLY: Final = {"jdbc.open_mode": "1", "jdbc.busy_timeout": "30000"}
"""For SQLite's driver: no statement can change the catalog; milliseconds to wait while a run commits."""
_S3: Final = {"io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}
_S3_REGION: Final = "client.region"


@dataclass(frozen=True)
class SparkCatalog:
    """A catalog by its name; ``properties`` are those of Iceberg's Spark catalog, without ``spark.sql.catalog.<name>.``."""

    name: str
    properties: Mapping[str, str]

    @classmethod
    def of(cls, spec: CatalogSpec, known: Mapping[str, str] | None = None) -> SparkCatalog:
        """Translate a connector's catalog; ``known``: what PyIceberg's environment adds to it, by PyIceberg's names.

        Raises StackError for a catalog whose address is not given, and for a property that is a reference to a secret.
        """
        given = {**(known or {}), **spec.properties}
        if references := sorted(key for key, value in given.items() if is_reference(value)):
            message = f"iceberg.catalog.{references[0]} is a reference, which is resolved in Airflow only: query this "
            message += "catalog by an engine of your own"
            raise StackError(message)
        if "uri" not in given and spec.type not in ("glue", "hadoop"):
            message = (
                f"the address of catalog {spec.name!r} is not in the connector: set iceberg.catalog.uri there, or "
            )
            message += "query it by an engine of your own"
            raise StackError(message)
        made = CatalogSpec(spec.type, spec.name, Properties(given)).for_spark()
        if _is_on_s3(made):
            made = {**_S3, "s3.path-style-access": str("s3.endpoint" in made).lower(), **made}
            if region := made.pop("s3.region", ""):
                made.setdefault(_S3_REGION, region)
        if made.get("uri", "").startswith(_SQLITE):
            made |= _READ_ONLY
        return cls(spec.name, made)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of its jars, beside what Spark contains."""
        uri = self.properties.get("uri", "")
        drivers = (package for start, package in DRIVERS.items() if uri.startswith(start))
        needs_aws = _is_on_s3(self.properties) or self.properties.get("type") == "glue"
        return (RUNTIME, *drivers, *([AWS] if needs_aws else []))

    def conf(self) -> dict[str, str]:
        """Return Spark's configuration of it. It may contain secrets, and goes into a session that is up, not into argv."""
        start = f"spark.sql.catalog.{self.name}"
        return {start: _CLASS, **{f"{start}.{key}": value for key, value in self.properties.items()}}


def of_demo(name: str, properties: Mapping[str, str]) -> SparkCatalog:
    """Return the catalog of the local stack; ``properties``: PyIceberg's, of an SQL catalog."""
    return SparkCatalog.of(CatalogSpec("sql", name, Properties({"type": "sql"})), properties)


def of_connector(file: Path, name: str, properties: Mapping[str, str]) -> SparkCatalog:
    """Return the catalog of a connector's file; ``name`` and ``properties``: the local stack's, which it may mean.

    Raises StackError for a file that is missing or no connector, and as :meth:`SparkCatalog.of` does.
    """
    try:
        document, operator = parse_document(file.read_bytes()), OperatorSettings.present()
        connector = parse_connector(document, default_name=file.stem, operator=operator)
    except OSError as error:
        message = f"connector {str(file)!r} cannot be read ({error.strerror}): name a file, as in "
        message += "dags/connectors/pizzas-on-ice.json"
        raise StackError(message) from error
    except ConfigError as error:
        message = f"{error}\nCorrect the file; `make check CONNECTOR={file}` reads it the same way."
        raise StackError(message) from error
    spec = connector.catalog
    return SparkCatalog.of(spec, properties if spec.name == name and spec.type == "sql" else None)


def _is_on_s3(properties: Mapping[str, str]) -> bool:
    return properties.get("warehouse", "").startswith(("s3://", "s3a://")) or "s3.endpoint" in properties
