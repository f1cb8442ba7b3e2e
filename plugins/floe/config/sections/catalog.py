"""``iceberg.catalog.*``: which catalogs floe reaches, and keys of Java catalogs that mean nothing to PyIceberg."""

import re
from collections.abc import Iterator, Mapping

from floe.config.keys.reader import Settings
from floe.config.libraries.library_settings import CATALOG_NAMES, unknown_settings
from floe.config.names import plain_problem
from floe.config.properties import Properties

PREFIX = "iceberg.catalog."
TYPE = "iceberg.catalog.type"

TYPES = ("sql", "rest")
_ALSO_CALLED = {"jdbc": "sql"}
_IMPLEMENTATIONS = ("catalog-impl", "py-catalog-impl")
_CODE = re.compile(r"py-io-impl|s3\.retry-strategy-impl|auth(\..*)?")
_SIGNERS = ("S3V4RestSigner",)
_DIALECT = re.compile(r"(sqlite|postgresql|mysql|mariadb|mssql|oracle)(\+[a-z0-9_]+)?")
_JAVA_ONLY = {
    "io-impl": "it names a Java class; PyIceberg chooses by the scheme of the location",
    "client.credentials-provider": "it names a Java class; set s3.access-key-id and s3.secret-access-key, or leave "
    "credentials to the environment",
    "s3.path-style-access": "PyIceberg addresses by path at an s3.endpoint of its own, unless "
    "s3.force-virtual-addressing is true",
}


def read_catalog(settings: Settings) -> Properties:
    """Check the catalog's properties and take them without their prefix, the type in lower case."""
    properties = settings.properties.under(PREFIX)
    if problem := plain_problem(settings.text("iceberg.catalog")):
        settings.problems.append(f"iceberg.catalog {problem}")
    if not properties:
        return Properties()  # the sink's own message is given by the cross-key rules
    implementations = [key for key in _IMPLEMENTATIONS if key in properties]
    for key in implementations:
        settings.problems.append(
            f"{PREFIX}{key} is not supported: catalogs of your own classes are not built. Set {TYPE} to sql or rest"
        )
    settings.problems += _problems(properties)
    if TYPE in settings.properties or not implementations:
        properties["type"] = _read_type(settings)
    settings.warnings.extend(
        f"{PREFIX}{key} has no effect: {reason}" for key, reason in _JAVA_ONLY.items() if key in properties
    )
    return Properties(properties)


def _problems(properties: Mapping[str, str]) -> Iterator[str]:
    code = [key for key in properties if _CODE.fullmatch(key)]
    for key in code:
        yield (
            f"{PREFIX}{key} names code: only the operator's environment does. Remove it, or set "
            "PYICEBERG_CATALOG__<NAME>__… or .pyiceberg.yaml for Airflow's and Spark's workers"
        )
    elsewhere = {*code, *_IMPLEMENTATIONS, *_JAVA_ONLY}
    yield from unknown_settings(PREFIX, (key for key in properties if key not in elsewhere), CATALOG_NAMES, "PyIceberg")
    if properties.get("s3.signer", _SIGNERS[0]) not in _SIGNERS:
        yield f"{PREFIX}s3.signer {properties['s3.signer'][:100]!r}: PyIceberg has {_SIGNERS[0]} only, set that"
    for key in ("uri", "warehouse"):
        if "%00" in properties.get(key, ""):
            yield f"{PREFIX}{key} has the code of a NUL character, %00: no address and no path has one; write it without"
    if properties.get("type", "").strip().lower() == "sql" and "uri" in properties:
        yield from _dialect_problems(properties["uri"])


def _dialect_problems(uri: str) -> Iterator[str]:
    """Say what SQLAlchemy would load by an address beside the databases that it knows. The address may be a secret."""
    if not _DIALECT.fullmatch(uri.partition(":")[0]):
        yield f"{PREFIX}uri is of no database that SQLAlchemy has: sqlite, postgresql, mysql, mariadb, mssql and oracle"
    if re.search(r"[?&]plugin=", uri):
        yield f"{PREFIX}uri names a plugin of SQLAlchemy, which is code: only the operator's environment does. Leave it out"


def _read_type(settings: Settings) -> str:
    if not settings.given(TYPE):
        settings.problems.append(
            f"{TYPE} is not given, which means hive to the sink, and hive is not supported yet: set it to sql or rest"
        )
        return ""
    kind = settings.text(TYPE).lower()
    if kind not in TYPES:
        hint = _ALSO_CALLED.get(kind)
        advice = f"PyIceberg calls it {hint}: set {hint}" if hint else "set sql or rest"
        settings.problems.append(f"{TYPE} {kind[:100]!r} is not supported yet: {advice}")
    return kind
