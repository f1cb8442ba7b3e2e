"""``iceberg.catalog.*``: which catalog a connector writes to, in the keys of Java's catalogs or of PyIceberg's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from floe.config.catalogs.base import PREFIX, CatalogKey, CatalogType, KeyStatus, KeyTable, by_pyicebergs_names
from floe.config.catalogs.catalog_types import TYPES, type_named, type_names, type_of_class
from floe.config.catalogs.other_names import meant
from floe.config.catalogs.stores import STORE_KEYS, store_problems, store_values, store_warnings, warehouse_problems
from floe.config.extensions import unknown_hint
from floe.config.keys.loaded_code import CATALOG as CODE
from floe.config.keys.reader import Settings
from floe.config.keys.spelling import NameSet, spelled_as
from floe.config.libraries.library_settings import CATALOG, CATALOG_NAMES, REST_CATALOG, SQL_CATALOG, unknown_settings
from floe.config.names import plain_problem
from floe.config.properties import Properties
from floe.config.secrets.detection import is_reference

TYPE: Final = f"{PREFIX}type"
IMPLEMENTATION: Final = f"{PREFIX}catalog-impl"

_CATALOG_CLASS: Final = "py-catalog-impl"
_ICEBERGS: Final = "org.apache.iceberg."
_SIGNERS: Final = ("S3V4RestSigner",)
_OF_REST: Final = frozenset(REST_CATALOG)
_OF_SQL: Final = frozenset(SQL_CATALOG)
_SHOWN_CHARACTERS: Final = 200
_MAX_COMPARED: Final = 20  # keys that a pattern takes: each is compared with all that have an effect
_OF_TYPE: Final = {name: KeyTable(one.keys) for name, one in TYPES.own.items()}
_OF_TYPES: Final = KeyTable([row for one in TYPES.own.values() for row in one.keys])


@dataclass(frozen=True)
class CatalogSpec:
    """A connector's catalog: ``type`` is a name of ``TYPES``, ``properties`` are as the file has them, the type included.

    Properties that are not set are taken from PyIceberg's own configuration of the catalog ``name``.
    """

    type: str
    name: str
    properties: Properties

    def for_pyiceberg(self) -> dict[str, str]:
        """Return the properties as PyIceberg's catalog takes them; references have to be resolved."""
        kind = TYPES.get(self.type)
        with TYPES.guard(self.type):
            made = store_values(self.properties, by_pyicebergs_names(self.properties, _table(kind)))
            return kind.to_pyiceberg(made) if kind else made

    def for_spark(self) -> dict[str, str]:
        """Return the properties as Iceberg's Spark catalog takes them; references have to be resolved."""
        kind = TYPES.get(self.type)
        with TYPES.guard(self.type):
            return kind.to_spark(self.properties) if kind else dict(self.properties)


def read_catalog(settings: Settings, tables: Sequence[str]) -> CatalogSpec:
    """Check the catalog's keys and return them without their prefix. ``tables``: the names that it has to take."""
    name, given = settings.text("iceberg.catalog"), settings.properties.under(PREFIX)
    if problem := plain_problem(name):
        settings.problems.append(f"iceberg.catalog {problem}")
    if not given:
        return CatalogSpec("", name, Properties())  # the cross-key rules give the sink's own message
    kind = _read_type(settings, given)
    with TYPES.guard("" if kind is None else kind.name):
        rows = _table(kind).rows_of(given)
        settings.problems += map(str, _problems(given, kind, rows))
        settings.problems += _name_problems(kind, tables)
    settings.warnings += [
        f"{PREFIX}{key} has no effect: {row.note}" for key, row in rows.items() if row.status is KeyStatus.NO_EFFECT
    ]
    settings.warnings += _of_another_type(given, kind, rows)
    settings.warnings += store_warnings(given)
    type_name = kind.name if kind else given.get("type", "").strip().lower()
    properties = {key: value for key, value in given.items() if key != "catalog-impl"}
    return CatalogSpec(type_name, name, Properties({**_read_hadoop(settings), **properties, "type": type_name}))


def _of_another_type(
    given: Mapping[str, str], kind: CatalogType | None, rows: Mapping[str, CatalogKey]
) -> Iterator[str]:
    """Yield PyIceberg's settings that catalogs of this type do not read."""
    if kind is None:
        return
    for names, library, whose in ((_OF_REST, "rest", "REST"), (_OF_SQL, "sql", "SQL")):
        if kind.library != library:
            found = [key for key in given if key in names or (library == "rest" and key.startswith("header."))]
            yield from (
                f"{PREFIX}{key} has no effect: it is of {whose} catalogs, and {TYPE} is {kind.name}"
                for key in found
                if key not in rows
            )


def _read_hadoop(settings: Settings) -> dict[str, str]:
    """Read what ``iceberg.hadoop.*`` says of S3, by the catalog's names."""
    given = settings.properties.under(HADOOP)
    settings.problems += hadoop_problems(given)
    settings.warnings += hadoop_warnings(given)
    return hadoop_properties(given)


def _table(kind: CatalogType | None) -> KeyTable:
    """Return the keys of a type: its own count before those of every catalog."""
    if kind is not None and kind.name not in TYPES.own:
        return KeyTable((*kind.keys, *STORE_KEYS))
    return _table_of("" if kind is None else kind.name)


@cache
def _table_of(name: str) -> KeyTable:
    return KeyTable((*(TYPES.own[name].keys if name else ()), *STORE_KEYS))


def _problems(given: Mapping[str, str], kind: CatalogType | None, rows: Mapping[str, CatalogKey]) -> Iterator[str]:
    code = [key for key, value in given.items() if CODE.names(key, value) and key not in (*rows, _CATALOG_CLASS)]
    for key in code:
        advice = meant(key, kind.name) if kind is not None else ""
        in_environment = (
            "remove it, or set PYICEBERG_CATALOG__<NAME>__… or .pyiceberg.yaml for Airflow's and Spark's workers"
        )
        yield f"{PREFIX}{key} names code: only the operator's environment does; {advice or in_environment}"
    for key, row in rows.items():
        if row.refuses(given[key]):
            advice = meant(key, kind.name) if kind is not None and row.name != key else ""
            yield f"{PREFIX}{key[:_SHOWN_CHARACTERS]} is refused: {advice or row.note}"
    yield from _misspelt(kind, rows)
    elsewhere = {*code, *rows, "catalog-impl", _CATALOG_CLASS}
    yield from _unknown(kind, [key for key in given if key not in elsewhere and key not in CATALOG_NAMES])
    if given.get("s3.signer", _SIGNERS[0]) not in _SIGNERS:
        yield f"{PREFIX}s3.signer {given['s3.signer'][:100]!r}: PyIceberg has {_SIGNERS[0]} only, set that"
    for key in ("uri", "warehouse"):
        if "%00" in given.get(key, ""):
            yield f"{PREFIX}{key} has the code of a NUL character, %00: no address and no path has one; write it without"
    yield from store_problems(given)
    if kind is not None and kind.warehouse in ("address", "either"):
        yield from warehouse_problems(given)
    if kind is not None:
        yield from kind.problems(given)


def _name_problems(kind: CatalogType | None, tables: Sequence[str]) -> Iterator[str]:
    """Yield the tables whose names the catalog does not take, and those that are one table to it."""
    if kind is None:
        return
    seen: dict[str, str] = {}
    for table in tables:
        if problem := kind.name_problem(table):
            yield f"table {table[:_SHOWN_CHARACTERS]!r} cannot be in a catalog of type {kind.name}: {problem}"
        elif kind.folds_case and (other := seen.setdefault(table.lower(), table)) != table:
            yield (
                f"{other[:_SHOWN_CHARACTERS]!r} and {table[:_SHOWN_CHARACTERS]!r} are one table in a catalog of type "
                f"{kind.name}, which has names in lower case: give one of them another name"
            )


def _unknown(kind: CatalogType | None, keys: Sequence[str]) -> Iterator[str]:
    """Yield a problem for each key that no library reads. Without a type, no key of some type is one: it may be right."""
    if kind is None:
        of_types = _OF_TYPES.rows_of(keys)
        keys = [key for key in keys if key not in of_types]

    def advice(key: str) -> str:
        if text := meant(key, kind.name if kind else ""):
            return text
        others = [name for name, table in _OF_TYPE.items() if table.rows_of([key])]
        if kind is None or not others:
            return ""
        return f"it is of type {' or '.join(others)}, and {TYPE} is {kind.name}: remove it, or correct the type"

    if keys:
        known = NameSet((*CATALOG, *(row.name for row in _table(kind))))
        yield from unknown_settings(PREFIX, keys, known, "PyIceberg", advice, beside=("catalog-impl",))


def _misspelt(kind: CatalogType | None, rows: Mapping[str, CatalogKey]) -> Iterator[str]:
    """Yield keys that a pattern takes without effect, and that are few letters away from one that has an effect."""
    by_pattern = [key for key, row in rows.items() if row.status is KeyStatus.NO_EFFECT and row.name != key]
    if not by_pattern:
        return
    table = _table(kind)
    names = tuple(row.name for row in table if row.status is not KeyStatus.NO_EFFECT and not row.name.endswith("*"))
    for key in by_pattern[:_MAX_COMPARED]:
        if near := spelled_as(key, names):
            yield f"unknown key {PREFIX}{key[:_SHOWN_CHARACTERS]}; the nearest known key is {PREFIX}{near}"


def _read_type(settings: Settings, given: Mapping[str, str]) -> CatalogType | None:
    """Return the type that ``type`` or ``catalog-impl`` names; None, with a problem, for one that is not supported."""
    if _CATALOG_CLASS in given:
        settings.problems.append(
            f"{PREFIX}{_CATALOG_CLASS} is not supported: a catalog of your own is a type that an extension adds. Set {TYPE} "
            f"to {type_names()}{unknown_hint()}"
        )
        if "type" not in given and "catalog-impl" not in given:
            return None
    if "catalog-impl" in given:
        return _type_of_class(settings, given)
    if not settings.given(TYPE):
        name = settings.text("iceberg.catalog")
        meant = next((kind for kind in TYPES.own.values() if name in kind.implementations), None)
        why = f"which means hive to the sink; say it: set {TYPE} to {type_names()}"
        if meant is not None:
            why = f"and iceberg.catalog has a class, where the catalog's name is wanted: set {TYPE} to {meant.name}"
        settings.problems.append(f"{TYPE} is not given, {why}")
        return None
    name = settings.text(TYPE).strip().lower()
    kind = type_named(name)
    if kind is None:
        settings.problems.append(f"{TYPE} {name[:100]!r} is not supported: set {type_names()}{unknown_hint()}")
    return kind


def _no_class(name: str) -> str:
    if name.startswith("software.amazon.s3tables."):
        return (
            f"S3 Tables have Iceberg's REST API: remove it, and set {TYPE} to rest, {PREFIX}uri to "
            f"https://s3tables.REGION.amazonaws.com/iceberg, {PREFIX}rest.sigv4-enabled to true and "
            f"{PREFIX}rest.signing-name to s3tables"
        )
    own = "a catalog of your own is a type that an extension adds"
    why = "floe has no catalog in the place of this class" if name.startswith(_ICEBERGS) else own
    return f"{why}. Remove it and set {TYPE} to {type_names()}{unknown_hint()}"


def _type_of_class(settings: Settings, given: Mapping[str, str]) -> CatalogType | None:
    name = given["catalog-impl"].strip()
    kind = type_of_class(name)
    if kind is None:
        settings.problems.append(f"{IMPLEMENTATION} {name[:_SHOWN_CHARACTERS]!r} is not supported: {_no_class(name)}")
    elif "type" in given:
        settings.problems.append(
            f"{TYPE} and {IMPLEMENTATION} are both set, which Iceberg refuses: remove {IMPLEMENTATION}"
        )
    return kind


# ``iceberg.hadoop.*``: what a Hadoop configuration says of S3, as properties of the catalog. There is no Hadoop in
# floe.


HADOOP: Final = "iceberg.hadoop."
_SSL: Final = "fs.s3a.connection.ssl.enabled"
_ENDPOINT: Final = "fs.s3a.endpoint"
_PROVIDER: Final = "fs.s3a.aws.credentials.provider"

_TRANSLATED: Final[Mapping[str, str]] = {
    "fs.s3a.access.key": "s3.access-key-id",
    "fs.s3a.secret.key": "s3.secret-access-key",
    "fs.s3a.session.token": "s3.session-token",
    _ENDPOINT: "s3.endpoint",
    "fs.s3a.endpoint.region": "s3.region",
    "fs.s3a.path.style.access": "s3.path-style-access",
    "fs.s3a.assumed.role.arn": "client.assume-role.arn",
    "fs.s3a.assumed.role.session.name": "client.assume-role.session-name",
    _SSL: "",
}
"""By Java's names of the catalog; nothing for those that only qualify another."""
_REFUSED: Final[Mapping[str, str]] = {
    "hadoop.security.authentication": "floe logs in to no Hadoop cluster. Remove it, with a value of simple too",
    "fs.s3a.server-side-encryption-algorithm": "set it as the bucket's default encryption",
    "fs.s3a.encryption.algorithm": "set it as the bucket's default encryption",
    "fs.s3a.encryption.key": "set it as the bucket's default encryption",
    "fs.s3a.security.credential.provider.path": "floe reads no keystores of Hadoop: use a reference, as ${file:…:key}",
    "hadoop.security.credential.provider.path": "floe reads no keystores of Hadoop: use a reference, as ${file:…:key}",
}
_ELSEWHERE: Final[Mapping[str, str]] = {
    "hive.metastore.uris": "set iceberg.catalog.uri",
    "hive.metastore.warehouse.dir": "set iceberg.catalog.warehouse",
    "fs.defaultFS": "set iceberg.catalog.warehouse",
}


def hadoop_properties(given: Mapping[str, str]) -> dict[str, str]:
    """Return what keys without ``iceberg.hadoop.`` mean for the catalog. Its own properties count over these."""
    made = {name: given[key] for key, name in _TRANSLATED.items() if name and key in given}
    endpoint = given.get(_ENDPOINT, "").strip()
    if endpoint and "://" not in endpoint and not is_reference(endpoint):
        is_plain = given.get(_SSL, "true").strip().lower() == "false"
        made["s3.endpoint"] = f"{'http' if is_plain else 'https'}://{endpoint}"
    if given.get(_PROVIDER, "").strip().endswith(".AnonymousAWSCredentialsProvider"):
        made["s3.anonymous"] = "true"
    return made


def hadoop_problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield keys that say something which floe could not do."""
    for key, advice in _REFUSED.items():
        if key in given:
            yield f"{HADOOP}{key} is refused: {advice}"
    effective = (*_TRANSLATED, *_REFUSED)
    others = [key for key in given if key not in effective][:_MAX_COMPARED]
    for key in others:
        if near := spelled_as(key, effective):
            yield f"unknown key {HADOOP}{key[:200]}; the nearest known key is {HADOOP}{near}"
    default = given.get("fs.defaultFS", "").strip()
    if default.startswith(("hdfs:", "viewfs:", "webhdfs:")):
        yield f"{HADOOP}fs.defaultFS {default[:100]!r} is refused: floe writes to no HDFS. Set iceberg.catalog.warehouse"


def hadoop_warnings(given: Mapping[str, str]) -> Iterator[str]:
    """Yield keys that have no effect."""
    for key in given:
        if key not in _TRANSLATED and key not in _REFUSED:
            hint = _ELSEWHERE.get(key, "fs.s3a.* of S3's access is understood")
            yield f"{HADOOP}{key[:200]} has no effect: there is no Hadoop in floe; {hint}"
