"""Keys of object stores as Java's FileIO has them, for those that a connector or PyIceberg's environment has otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from floe.config.catalogs.base import CatalogType

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
