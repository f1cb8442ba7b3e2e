"""A connector's catalog as Spark has it: its properties, and the jars that reach it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.catalogs.registry import TYPES, type_names
from floe.config.properties import Properties
from floe.config.secrets.detection import is_reference
from floe.config.sections.catalog import CatalogSpec
from floe.query.exceptions import QueryRefused
from floe.query.stores import AWS_BUNDLE, bundle_of, java_keys, system_properties

RUNTIME: Final = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
DRIVERS: Final[Mapping[str, str]] = {
    "jdbc:sqlite:": "org.xerial:sqlite-jdbc:3.50.3.0",
    "jdbc:postgresql:": "org.postgresql:postgresql:42.7.8",
    "jdbc:mysql:": "com.mysql:mysql-connector-j:9.4.0",
}
"""Drivers of JDBC by the beginning of an address; Iceberg's runtime contains none."""

_CLASS: Final = "org.apache.iceberg.spark.SparkCatalog"
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_READ_ONLY: Final[Mapping[str, Mapping[str, str]]] = {
    # milliseconds to wait while a run commits
    "jdbc:sqlite:": {"jdbc.open_mode": "1", "jdbc.busy_timeout": "30000"},
    "jdbc:postgresql:": {"jdbc.readOnly": "true", "jdbc.readOnlyMode": "always"},
}
"""By the beginning of an address: no statement can change such a catalog, whoever sends it."""
_VENDED: Final = {"header.X-Iceberg-Access-Delegation": "vended-credentials"}
"""What PyIceberg asks every REST server for, and Java only by this header."""
_PYTHON_LOGINS: Final = ("entra",)
_OF_SPARK: Final = ("rest", "hive", "hadoop", "glue", "jdbc", "nessie")
"""Types of Iceberg's catalogs in Spark."""


@dataclass(frozen=True)
class SparkCatalog:
    """A catalog by its name.

    ``properties`` are those of Iceberg's Spark catalog, without ``spark.sql.catalog.<name>.``; ``system`` are system
    properties of the JVM. Both may contain secrets. ``needs_aws``: its client is AWS's.
    """

    name: str
    properties: Mapping[str, str] = field(repr=False)
    system: Mapping[str, str] = field(default_factory=dict, repr=False)
    needs_aws: bool = False

    @classmethod
    def of(cls, spec: CatalogSpec, known: Mapping[str, object] | None = None) -> SparkCatalog:
        """Translate a connector's catalog; ``known``: what PyIceberg's environment adds to it, by PyIceberg's names.

        Raises QueryRefused for a catalog that Spark does not reach, without an address, or with a reference to a secret.
        """
        given = {**(known or {}), **spec.properties}
        texts = {key: value for key, value in given.items() if isinstance(value, str)}
        _require_reachable(spec, given, texts)
        try:
            made = CatalogSpec(spec.type, spec.name, Properties(texts)).for_spark()
        except ValueError as error:
            message = f"catalog {spec.name!r}: {error}"
            raise QueryRefused(message) from error
        kind = made.get("type", "")
        if kind not in _OF_SPARK:
            message = (
                f"catalog {spec.name!r} is of type {spec.type!r}, which is {kind!r} to Spark, and Iceberg's Spark has only "
                f"{', '.join(_OF_SPARK)}. Query it by PyIceberg"
            )
            raise QueryRefused(message)
        made = java_keys(made, picks_io=kind in ("rest", "hadoop"))
        if kind == "rest":
            made = {**_VENDED, **made}
        if kind == "jdbc":
            made.pop("jdbc.schema-version", None)  # it would alter the database's tables
            made |= {"jdbc.init-catalog-tables": "false"}
            made |= next((safe for start, safe in _READ_ONLY.items() if made.get("uri", "").startswith(start)), {})
            _require_driver(spec.name, made.get("uri", ""))
        return cls(spec.name, made, system_properties(TYPES[spec.type], texts), needs_aws=TYPES[spec.type].needs_aws)

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages of its jars, beside what Spark contains."""
        uri, found = self.properties.get("uri", ""), [RUNTIME]
        found += [package for start, package in DRIVERS.items() if uri.startswith(start)]
        if self.needs_aws or _is_signed(self.properties):
            found.append(AWS_BUNDLE)
        if (bundle := bundle_of(self.properties)) is not None:
            found.append(bundle)
        return tuple(dict.fromkeys(found))

    def conf(self) -> dict[str, str]:
        """Return Spark's configuration of it. It may contain secrets, and goes into a session that is up, not into argv."""
        start = f"spark.sql.catalog.{self.name}"
        return {start: _CLASS, **{f"{start}.{key}": value for key, value in self.properties.items()}}


def _require_reachable(spec: CatalogSpec, given: Mapping[str, object], texts: Mapping[str, str]) -> None:
    if spec.type not in TYPES:
        message = (
            f"catalog {spec.name!r} is of type {spec.type!r}, which is none that floe has: set iceberg.catalog.type "
        )
        message += f"to {type_names()}"
        raise QueryRefused(message)
    if not _NAME.fullmatch(spec.name):
        message = (
            f"catalog {spec.name!r} cannot be queried: in Spark a catalog's name has ASCII letters, digits, dashes and "
        )
        message += "underscores only. Query it by another engine"
        raise QueryRefused(message)
    if references := sorted(key for key, value in texts.items() if is_reference(value)):
        message = f"iceberg.catalog.{references[0]} is a reference that is not resolved here: query this catalog by "
        message += "`python -m floe query`, with what its provider needs in the environment"
        raise QueryRefused(message)
    if "uri" not in texts and TYPES[spec.type].has_address:
        message = f"the address of catalog {spec.name!r} is not in the connector: set iceberg.catalog.uri there, or "
        message += f"PYICEBERG_CATALOG__{spec.name.upper()}__URI here"
        raise QueryRefused(message)
    login = texts.get("rest.auth.type", "").strip().lower()
    if spec.type == "rest" and ("auth" in given or login in _PYTHON_LOGINS):
        name = f"rest.auth.type {login!r}" if login in _PYTHON_LOGINS else "`auth` of PyIceberg's own configuration"
        message = (
            f"Spark cannot reach catalog {spec.name!r}: its login is {name}, which Java's client does not have. Query "
        )
        message += "it by PyIceberg, or by an engine with a login of its own"
        raise QueryRefused(message)


def _require_driver(name: str, uri: str) -> None:
    if not uri.startswith(tuple(DRIVERS)):
        message = (
            f"Spark cannot reach catalog {name!r}: its address is of {uri.partition(':')[0][:40]!r}, and queries know "
        )
        message += "the drivers of SQLite, PostgreSQL and MySQL. Query it by PyIceberg"
        raise QueryRefused(message)


def _is_signed(properties: Mapping[str, str]) -> bool:
    return (
        properties.get("rest.sigv4-enabled", "").strip().lower() == "true"
        or "sigv4" in properties.get("rest.auth.type", "").lower()
    )
