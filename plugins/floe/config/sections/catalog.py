"""``iceberg.catalog.*``: which catalogs floe reaches, and keys of Java catalogs that have no effect in PyIceberg."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from floe.config.keys.reader import Settings
from floe.config.libraries.library_settings import CATALOG_NAMES, unknown_settings
from floe.config.names import plain_problem
from floe.config.properties import Properties
from floe.config.sections.catalog_types import PREFIX, CatalogType, type_named, type_names

TYPE: Final = f"{PREFIX}type"

_ALSO_CALLED: Final = {"jdbc": "sql"}
_IMPLEMENTATIONS: Final = ("catalog-impl", "py-catalog-impl")
_CODE: Final = re.compile(r"py-io-impl|s3\.retry-strategy-impl|auth(\..*)?")
_SIGNERS: Final = ("S3V4RestSigner",)
_JAVA_ONLY: Final = {
    "io-impl": "it names a Java class; PyIceberg chooses by the scheme of the location",
    "client.credentials-provider": "it names a Java class; set s3.access-key-id and s3.secret-access-key, or leave "
    "credentials to the environment",
    "s3.path-style-access": "PyIceberg addresses by path at an s3.endpoint of its own, unless "
    "s3.force-virtual-addressing is true",
}
"""Keys of every Java catalog that have no effect here, with the reason."""


@dataclass(frozen=True)
class CatalogSpec:
    """A connector's catalog: ``type`` is a name of ``TYPES``, ``properties`` are in PyIceberg's spelling, the type included.

    Properties that are not set are taken from PyIceberg's own configuration of the catalog ``name``.
    """

    type: str
    name: str
    properties: Properties


def read_catalog(settings: Settings) -> CatalogSpec:
    """Check the catalog's keys and return them without their prefix, as its type translates them."""
    name, given = settings.text("iceberg.catalog"), settings.properties.under(PREFIX)
    if problem := plain_problem(name):
        settings.problems.append(f"iceberg.catalog {problem}")
    if not given:
        return CatalogSpec("", name, Properties())  # the cross-key rules give the sink's own message
    implementations = [key for key in _IMPLEMENTATIONS if key in given]
    for key in implementations:
        settings.problems.append(
            f"{PREFIX}{key} is not supported: catalogs of your own classes are not built. Set {TYPE} to {type_names()}"
        )
    kind = type_named(given.get("type", "").strip().lower())
    settings.problems += _problems(given, kind)
    translations = kind.translations if kind else {}
    properties = {translations.get(key, key): value for key, value in given.items()}
    if TYPE in settings.properties or not implementations:
        properties["type"] = _read_type(settings)
    reasons = {**_JAVA_ONLY, **(kind.no_effect if kind else {})}
    settings.warnings.extend(
        f"{PREFIX}{key} has no effect: {reason}" for key, reason in reasons.items() if key in given
    )
    return CatalogSpec(properties.get("type", ""), name, Properties(properties))


def _problems(given: Mapping[str, str], kind: CatalogType | None) -> Iterator[str]:
    code = [key for key in given if _CODE.fullmatch(key)]
    for key in code:
        yield (
            f"{PREFIX}{key} names code: only the operator's environment does. Remove it, or set "
            "PYICEBERG_CATALOG__<NAME>__… or .pyiceberg.yaml for Airflow's and Spark's workers"
        )
    elsewhere = {*code, *_IMPLEMENTATIONS, *_JAVA_ONLY, *(kind.own_keys if kind else ())}
    yield from unknown_settings(PREFIX, (key for key in given if key not in elsewhere), CATALOG_NAMES, "PyIceberg")
    if given.get("s3.signer", _SIGNERS[0]) not in _SIGNERS:
        yield f"{PREFIX}s3.signer {given['s3.signer'][:100]!r}: PyIceberg has {_SIGNERS[0]} only, set that"
    for key in ("uri", "warehouse"):
        if "%00" in given.get(key, ""):
            yield f"{PREFIX}{key} has the code of a NUL character, %00: no address and no path has one; write it without"
    if kind is not None:
        yield from kind.problems(given)


def _read_type(settings: Settings) -> str:
    """Return PyIceberg's name of the given type, or the given value if it is not supported."""
    if not settings.given(TYPE):
        settings.problems.append(
            f"{TYPE} is not given, which means hive to the sink, and hive is not supported yet: set it to {type_names()}"
        )
        return ""
    name = settings.text(TYPE).lower()
    kind = type_named(name)
    if kind is not None:
        return kind.name
    hint = _ALSO_CALLED.get(name)
    advice = f"PyIceberg calls it {hint}: set {hint}" if hint else f"set {type_names()}"
    settings.problems.append(f"{TYPE} {name[:100]!r} is not supported yet: {advice}")
    return name
