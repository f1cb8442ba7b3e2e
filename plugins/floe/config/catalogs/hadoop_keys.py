"""``iceberg.hadoop.*``: what a Hadoop configuration says of S3, as properties of the catalog. There is no Hadoop in floe."""

from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.keys.spelling import spelled_as
from floe.config.secrets.detection import is_reference

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
_MAX_COMPARED: Final = 20  # keys without effect: each is compared with all that have one


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
