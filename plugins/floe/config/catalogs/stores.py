"""Keys of every catalog in Java: its own, and those of the stores behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs.base import (
    PREFIX,
    CatalogKey,
    KeyTable,
    by_pyicebergs_names,
    no_effect,
    refused,
    taken,
    translated,
)
from floe.config.catalogs.store_address import PARTS, location_problem, setting_problems
from floe.config.secrets.detection import is_reference

# Keys of Java's GCSFileIO and ADLSFileIO, and those of PyIceberg's that Arrow's clients do not have.


_NOT_ARROWS: Final = "it is for clients that floe does not use"
_CHUNKS: Final = "Arrow reads and writes in parts of its own"

GCS_KEYS: Final[tuple[CatalogKey, ...]] = (
    no_effect("gcs.channel.*", _CHUNKS),
    no_effect("gcs.client-lib-token", "Arrow's client has a name of its own"),
    no_effect("gcs.delete.*", "floe deletes metadata files alone, one by one"),
    no_effect("gcs.analytics-core.*", "it is for Java's client"),
    no_effect("gcs.oauth2.refresh-credentials-*", "a table is loaded again by the next task, with a new token"),
    refused("gcs.encryption-key", "Arrow's client sends no key of yours. Use the bucket's key, and remove it"),
    refused("gcs.decryption-key", "Arrow's client sends no key of yours. Use the bucket's key, and remove it"),
    refused("gcs.user-project", "Arrow's client pays for no requests: use a bucket whose owner pays, and remove it"),
    taken("gcs.no-auth", "`true`: no login, for emulators and public buckets"),
    taken("gcs.impersonate.service-account", "with the login of the workers"),
    no_effect("gcs.impersonate.lifetime-seconds", "Arrow's client decides how long a token lasts"),
    refused("gcs.impersonate.*", "Arrow's client impersonates one account, with its own scopes. Remove it"),
    no_effect("gcs.cache-timeout", _NOT_ARROWS),
    no_effect("gcs.consistency", _NOT_ARROWS),
    no_effect("gcs.project-id", "only new buckets have a project, and floe makes none"),
    refused("gcs.requester-pays", "Arrow's client pays for no requests: use a bucket whose owner pays, and remove it"),
)
ADLS_KEYS: Final[tuple[CatalogKey, ...]] = (
    translated("adls.auth.shared-key.account.name", "adls.account-name"),
    translated("adls.auth.shared-key.account.key", "adls.account-key"),
    taken("adls.sas-token.*", "what follows is the account, with or without the rest of its host"),
    no_effect("adls.read.*", _CHUNKS),
    no_effect("adls.write.*", _CHUNKS),
    no_effect("adls.refresh-credentials-*", "a table is loaded again by the next task, with new credentials"),
    refused(
        "adls.connection-string*",
        "Arrow's client takes none. Set adls.account-name and adls.account-key, or adls.sas-token",
    ),
    refused(
        "adls.token", "Arrow's client takes none. Set adls.sas-token, or adls.client-id with its secret and tenant"
    ),
    refused("adls.credential", "it names a Python object. Set adls.client-id with its secret and tenant"),
    refused("adls.anon", "Arrow's client logs in. Set adls.sas-token, or give the workers an identity"),
    refused("adls.account-host", "set adls.blob-storage-authority and adls.dfs-storage-authority"),
    refused("adls.token-credential-provider*", "it names a Java class. Give the workers an identity, and remove it"),
)


# Keys that Java has for every catalog, whatever its type.


_NO_CACHE: Final = "floe asks the catalog each time"
_NEW_TABLES: Final = "set iceberg.tables.auto-create-props.* for tables that floe creates"

COMMON_KEYS: Final[tuple[CatalogKey, ...]] = (
    no_effect("cache-enabled", _NO_CACHE),
    no_effect("cache.*", _NO_CACHE),
    no_effect("clients", "a task has one client, with a pool of its own"),
    no_effect("client.pool.*", "a task has one client, with a pool of its own"),
    no_effect("client-pool-cache-keys", "a task has one client, with a pool of its own"),
    no_effect("http-client.*", "it is for the HTTP client of Java's AWS SDK"),
    no_effect("include-credentials", "it is for the REST server, which decides by itself"),
    no_effect("io.manifest.*", "manifests are read once"),
    no_effect("metrics-reporter-impl", "it names a Java class; floe's metrics are Airflow's"),
    no_effect("unique-table-location", "tables that floe creates are where the catalog puts them"),
    no_effect("user", "commits are of the login to the catalog"),
    no_effect("app-id", "it is of Spark"),
    no_effect("app-name", "it is of Spark"),
    no_effect("view-default.*", "floe makes no views"),
    no_effect("view-override.*", "floe makes no views"),
    refused("table-default.*", _NEW_TABLES),
    refused("table-override.*", _NEW_TABLES),
    refused("encryption.*", "PyIceberg writes no encrypted tables. Remove it"),
)


# Keys of Java's S3FileIO and of its AWS clients. PyIceberg's own are in ``floe.config.libraries.library_settings``.


PATH_STYLE: Final = "s3.path-style-access"
VIRTUAL: Final = "s3.force-virtual-addressing"
_SDK: Final = "it is for the HTTP client of Java's AWS SDK"
_UPLOADS: Final = "Arrow uploads in parts of its own"
_TAGS: Final = "PyIceberg writes objects without tags: use a lifecycle rule for the prefix of the warehouse"
_ENCRYPTION: Final = "PyIceberg names no key with an object: set it as the bucket's default encryption, and remove this"

S3_KEYS: Final[tuple[CatalogKey, ...]] = (
    translated(PATH_STYLE, VIRTUAL, "true: the bucket is in the path, at an s3.endpoint of your own"),
    translated("client.assume-role.arn", "client.role-arn", "for S3, with the credentials of the environment"),
    translated("client.assume-role.region", "client.region", "counts below client.region"),
    translated("client.assume-role.session-name", "client.role-session-name"),
    translated("s3.cross-region-access-enabled", "s3.resolve-region", "true: the region of each bucket is looked up"),
    no_effect("client.assume-role.timeout-sec", "Arrow renews the role's credentials by itself"),
    refused(
        "client.assume-role.external-id",
        "PyIceberg sends no external id. Have the worker's AWS profile assume the role, and name that by "
        "client.profile-name or AWS_PROFILE",
    ),
    refused(
        "client.assume-role.tags.*", "PyIceberg sends no session tags. Have the worker's AWS profile assume the role"
    ),
    no_effect("client.credentials-provider.*", "it configures a Java class"),
    no_effect("s3.multipart.*", _UPLOADS),
    no_effect("s3.staging-dir", _UPLOADS),
    no_effect("s3.write.*", _TAGS),
    no_effect("s3.delete.*", "floe deletes metadata files alone, one by one"),
    no_effect("s3.delete-enabled", "floe deletes no data files, and metadata files only where a table asks for it"),
    no_effect("s3.checksum-enabled", "Arrow sends checksums of its own"),
    no_effect("s3.chunked-encoding-enabled", _SDK),
    no_effect("s3.use-arn-region-enabled", _SDK),
    no_effect("s3.preload-client-enabled", _SDK),
    no_effect("s3.retry.*", "Arrow's client tries again by itself"),
    no_effect("s3.crt.*", _SDK),
    no_effect("s3.analytics-accelerator.*", _SDK),
    no_effect("s3.analytics-accelerator-enabled", _SDK),
    no_effect("s3.directory-bucket.*", _SDK),
    no_effect("s3.duality-enabled", _SDK),
    refused("s3.acl", "PyIceberg sets no ACL: set the bucket's object ownership or its policy, and remove this"),
    refused("s3.sse.key", _ENCRYPTION),
    no_effect("s3.sse.md5", "it belongs to a key of your own"),
    refused("s3.access-points.*", "PyIceberg has no access points: name the access point's alias as the bucket"),
)
_IMPLEMENTATIONS: Final = (
    "org.apache.iceberg.aws.s3.S3FileIO",
    "org.apache.iceberg.hadoop.HadoopFileIO",
    "org.apache.iceberg.io.ResolvingFileIO",
    "org.apache.iceberg.gcp.gcs.GCSFileIO",
    "org.apache.iceberg.google.gcs.GCSFileIO",
    "org.apache.iceberg.azure.adlsv2.ADLSFileIO",
    "org.apache.iceberg.io.DelegateFileIO",
)
_FACTORIES: Final = (
    "org.apache.iceberg.aws.AwsClientFactories$DefaultAwsClientFactory",
    "org.apache.iceberg.aws.AssumeRoleAwsClientFactory",
    "org.apache.iceberg.aws.s3.DefaultS3FileIOAwsClientFactory",
)
_SDK_PROVIDERS: Final = ("software.amazon.awssdk.auth.credentials.", "com.amazonaws.auth.")

CLASS_KEYS: Final[tuple[CatalogKey, ...]] = (
    no_effect("io-impl", "PyIceberg chooses by the scheme of the location"),
    no_effect("client.factory", "PyIceberg has one client, with the keys beside it"),
    no_effect("s3.client-factory-impl", "PyIceberg has one client, with the keys beside it"),
    no_effect(
        "client.credentials-provider",
        "Arrow looks where AWS's default provider does, unless s3.access-key-id and s3.secret-access-key are set",
    ),
)
_KNOWN_CLASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "io-impl": _IMPLEMENTATIONS,
    "client.factory": _FACTORIES,
    "s3.client-factory-impl": _FACTORIES,
}

_SWITCHES: Final[Mapping[str, str]] = {
    "s3.acceleration-enabled": "set s3.endpoint to https://s3-accelerate.amazonaws.com",
    "s3.dualstack-enabled": "set s3.endpoint to the dual-stack address of the region",
    "s3.access-grants.enabled": "PyIceberg has no access grants: set credentials, or give the workers a role",
}
SWITCH_KEYS: Final[tuple[CatalogKey, ...]] = (
    *(no_effect(key, f"false is what PyIceberg does; for true, {advice}") for key, advice in _SWITCHES.items()),
    no_effect("s3.access-grants.*", "PyIceberg has no access grants"),
    no_effect("s3.sse.type", "a bucket's default encryption is used"),
)
_NO_ENCRYPTION_OF_ITS_OWN: Final = ("none", "s3")


def problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield classes that floe has nothing for, and switches that cannot be turned on."""
    for key, known in _KNOWN_CLASSES.items():
        name = given.get(key, "").strip()
        if name and not is_reference(name) and name not in known:
            yield (
                f"{PREFIX}{key} {name[:200]!r} is a class that floe has nothing for: it never loads one. Remove it; "
                "PyIceberg chooses by the scheme of the location"
            )
    provider = given.get("client.credentials-provider", "").strip()
    if provider and not is_reference(provider) and not provider.startswith(_SDK_PROVIDERS):
        yield (
            f"{PREFIX}client.credentials-provider {provider[:200]!r} is no class of AWS: floe loads none. Set "
            "s3.access-key-id and s3.secret-access-key, floe.aws.conn-id, or the environment of the workers"
        )
    for key, advice in _SWITCHES.items():
        if given.get(key, "").strip().lower() == "true":
            yield f"{PREFIX}{key} true is not supported: {advice}, and remove it"
    encryption = given.get("s3.sse.type", "").strip().lower()
    if encryption and not is_reference(encryption) and encryption not in _NO_ENCRYPTION_OF_ITS_OWN:
        yield f"{PREFIX}s3.sse.type {encryption[:100]!r} is not supported: {_ENCRYPTION}"
    path_style = given.get(PATH_STYLE, "true").strip().lower()
    if path_style not in ("true", "false") and not is_reference(path_style):
        yield f"{PREFIX}{PATH_STYLE} {path_style[:100]!r} is neither true nor false"


def to_pyiceberg(given: Mapping[str, str], made: Mapping[str, str]) -> dict[str, str]:
    """Return values in PyIceberg's form; ``given``: as the file has them, ``made``: by PyIceberg's names.

    Path style is the opposite of virtual addressing. PyIceberg uses the path at an endpoint of one's own in any case.
    """
    if PATH_STYLE not in given or VIRTUAL in given:
        return dict(made)
    return {**made, VIRTUAL: "false" if given[PATH_STYLE].strip().lower() == "true" else "true"}


STORE_KEYS: Final[tuple[CatalogKey, ...]] = (
    *COMMON_KEYS,
    *CLASS_KEYS,
    *SWITCH_KEYS,
    *S3_KEYS,
    *GCS_KEYS,
    *ADLS_KEYS,
)
"""By Java's names. PyIceberg's own are in ``floe.config.libraries.library_settings``."""


_TABLE: Final = KeyTable(STORE_KEYS)


def store_problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield values that no store of floe's can have."""
    yield from problems(given)
    made = by_pyicebergs_names(given, _TABLE)
    parts = {key: made[key].strip() for key in PARTS & made.keys() if not is_reference(made[key])}
    for key, problem in setting_problems(parts):
        yield f"{PREFIX}{key}: {problem}. Correct it: it becomes a part of an address"
    warehouse = given.get("warehouse", "").strip()
    if not is_reference(warehouse) and (wrong := location_problem(warehouse)):
        yield f"{PREFIX}warehouse: {wrong}"


def warehouse_problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield why a warehouse is no address of a store."""
    warehouse = given.get("warehouse", "").strip()
    if warehouse.startswith("arn:"):
        bucket = warehouse.partition(":s3:::")[2]
        what, address = ("a bucket", bucket) if bucket else ("something else", "BUCKET/PATH")
        yield f"{PREFIX}warehouse {warehouse[:200]!r} is Amazon's name of {what}, and no address: set s3://{address[:200]}"


def store_warnings(given: Mapping[str, str]) -> Iterator[str]:
    """Yield what floe is not tested with."""
    if given.get("warehouse", "").strip().lower().startswith(("hdfs:", "viewfs:")):
        yield (
            f"{PREFIX}warehouse is in HDFS, which no test of floe uses: Arrow needs Hadoop's native client (libhdfs) for it "
            "on Airflow's and Spark's workers. Without that, set an address in S3, GCS or ADLS"
        )


def store_values(given: Mapping[str, str], made: Mapping[str, str]) -> dict[str, str]:
    """Return values in PyIceberg's form; ``given``: as the file has them, ``made``: by PyIceberg's names."""
    return to_pyiceberg(given, made)
