"""A connector's catalog as Spark has it: its properties, and the jars that reach it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from floe.config.catalogs.base import CatalogType
from floe.config.catalogs.catalog_types import TYPES, type_names
from floe.config.properties import Properties
from floe.config.secrets.detection import is_reference
from floe.config.sections.catalog import CatalogSpec
from floe.query.exceptions import QueryRefused

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


# Keys of object stores as Java's FileIO has them, for those that a connector or PyIceberg's environment has
# otherwise.


AWS_BUNDLE: Final = "org.apache.iceberg:iceberg-aws-bundle:1.12.0"
BUNDLES: Final[Mapping[str, str]] = {
    "s3": AWS_BUNDLE,
    "s3a": AWS_BUNDLE,
    "s3n": AWS_BUNDLE,
    "gs": "org.apache.iceberg:iceberg-gcp-bundle:1.12.0",
    "abfs": "org.apache.iceberg:iceberg-azure-bundle:1.12.0",
    "abfss": "org.apache.iceberg:iceberg-azure-bundle:1.12.0",
    "wasb": "org.apache.iceberg:iceberg-azure-bundle:1.12.0",
    "wasbs": "org.apache.iceberg:iceberg-azure-bundle:1.12.0",
}
"""Packages with the clients of a store, by the scheme of a location; Iceberg's runtime contains none."""

_S3_IO: Final = "org.apache.iceberg.aws.s3.S3FileIO"
_ANY_IO: Final = "org.apache.iceberg.io.ResolvingFileIO"
_ROLE_FACTORY: Final = "org.apache.iceberg.aws.AssumeRoleAwsClientFactory"
_PATH_STYLE, _VIRTUAL = "s3.path-style-access", "s3.force-virtual-addressing"
_REGION: Final = "client.region"
_PYTHONS: Final = ("py-io-impl", "s3.retry-strategy-impl", _VIRTUAL)
_RENAMED: Final[Mapping[str, str]] = {
    "client.access-key-id": "s3.access-key-id",
    "client.secret-access-key": "s3.secret-access-key",
    "client.session-token": "s3.session-token",
    "client.role-arn": "client.assume-role.arn",
    "s3.role-arn": "client.assume-role.arn",
    "client.role-session-name": "client.assume-role.session-name",
    "s3.role-session-name": "client.assume-role.session-name",
    "s3.resolve-region": "s3.cross-region-access-enabled",
    "adls.account-name": "adls.auth.shared-key.account.name",
    "adls.account-key": "adls.auth.shared-key.account.key",
}
"""PyIceberg's names that Java does not read, with Java's. A key that is given by Java's name counts."""

_PROFILES: Final = ("glue.profile-name", "s3.profile-name", "client.profile-name")


def is_on_s3(properties: Mapping[str, str]) -> bool:
    """Say whether a catalog's tables are known to be in an S3 store."""
    return scheme_of(properties) in ("s3", "s3a", "s3n") or "s3.endpoint" in properties


def scheme_of(properties: Mapping[str, str]) -> str:
    """Return the scheme of the warehouse; empty where it has none, or is a name."""
    return properties.get("warehouse", "").partition("://")[0] if "://" in properties.get("warehouse", "") else ""


def bundle_of(properties: Mapping[str, str]) -> str | None:
    """Return the package that the tables' store needs, as far as it is known before a table is read."""
    return AWS_BUNDLE if is_on_s3(properties) else BUNDLES.get(scheme_of(properties))


def java_keys(given: Mapping[str, str], *, picks_io: bool) -> dict[str, str]:
    """Return properties by Java's names; ``picks_io``: the catalog chooses a FileIO by each location without being asked."""
    made = {key: value for key, value in given.items() if key not in _PYTHONS}
    for key, name in _RENAMED.items():
        if key in made:
            made.setdefault(name, made.pop(key))
    if is_on_s3(made):
        made = {"io-impl": _S3_IO, _PATH_STYLE: _path_style(given), **made}
    elif scheme_of(made) != "file" and not picks_io:
        made.setdefault("io-impl", _ANY_IO)
    if region := made.pop("s3.region", made.pop("glue.region", "")):
        made.setdefault(_REGION, region)
    if "client.assume-role.arn" in made:
        made.setdefault("client.factory", _ROLE_FACTORY)
        if _REGION in made:
            made.setdefault("client.assume-role.region", made[_REGION])
    return made


def system_properties(kind: CatalogType, given: Mapping[str, str]) -> dict[str, str]:
    """Return what the catalog's client reads of the JVM, and a profile of AWS."""
    found = {}
    for name, keys in kind.jvm_properties.items():
        value = next((given[key] for key in keys if key in given), None)
        if value is not None:
            found[name] = value
    profile = next((given[key] for key in _PROFILES if key in given), None)
    return found if profile is None else {**found, "aws.profile": profile}


def _path_style(given: Mapping[str, str]) -> str:
    if _VIRTUAL in given:
        return "false" if given[_VIRTUAL].strip().lower() == "true" else "true"
    return str("s3.endpoint" in given).lower()
