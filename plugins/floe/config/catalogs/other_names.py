"""What other tools and people call the settings of catalogs, and the setting that means the same, by the catalog's type.

All names are without ``iceberg.catalog.``. What differs in separators or letters only is recognised by its spelling.
"""

import re
from collections.abc import Mapping
from typing import Final

from floe.config.catalogs.base import PREFIX
from floe.config.keys.spelling import letters

_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "type": ("catalog-type", "catalog.type", "kind"),
    "catalog-impl": ("impl", "implementation", "class"),
    "warehouse": (
        *("warehouse-location", "warehouse.dir", "warehouse-path", "default-warehouse-dir", "warehouse.uri"),
        *("glue.warehouse", "metastore.warehouse.dir", "catalog-warehouse", "default-warehouse"),
    ),
    "io-impl": ("file-io-impl", "fileio-impl", "io"),
    "s3.endpoint": ("s3.endpoint-url", "s3.endpoint-uri", "s3.endpoint-override", "s3.host", "s3a.endpoint"),
    "s3.access-key-id": ("s3.access.key", "s3.aws-access-key", "s3.key", "s3.key-id", "s3a.access.key", "s3.access-id"),
    "s3.secret-access-key": ("s3.secret.key", "s3.secret", "s3.aws-secret-key", "s3a.secret.key", "s3.secret-access"),
    "s3.session-token": ("s3.token", "s3.security-token", "s3.aws-session-token"),
    "s3.path-style-access": ("s3.path-style", "s3.force-path-style", "s3.use-path-style", "s3.path-style-enabled"),
    "s3.region": ("s3.region-name", "s3.aws-region", "s3.endpoint.region", "s3.default-region"),
    "client.region": ("region", "region-name", "aws.region", "aws-region", "aws_region", "aws.default-region"),
    "client.access-key-id": (
        *("access-key-id", "access-key", "aws.access-key-id", "aws_access_key_id", "aws.access-key"),
        *("client.access-key", "aws-access-key"),
    ),
    "client.secret-access-key": (
        *("secret-access-key", "secret-key", "aws.secret-access-key", "aws_secret_access_key", "aws.secret-key"),
        *("client.secret-key", "aws-secret-key"),
    ),
    "client.session-token": ("session-token", "aws.session-token", "aws_session_token"),
    "client.assume-role.arn": (
        "role-arn",
        "aws.role-arn",
        "s3.iam-role",
        "iam-role",
        "assume-role.arn",
        "iam-role-arn",
    ),
    "client.profile-name": ("profile", "profile-name", "aws.profile", "aws-profile"),
    "gcs.oauth2.token": ("gcs.token", "gcs.access-token"),
    "gcs.service.host": ("gcs.endpoint", "gcs.host", "gcs.endpoint-url"),
    "adls.account-name": ("adls.account", "azure.account-name", "azure.storage-account", "adls.storage-account"),
    "adls.account-key": ("adls.key", "azure.account-key", "adls.shared-key", "azure.storage-key"),
    "adls.sas-token": ("adls.sas", "azure.sas-token"),
    "adls.tenant-id": ("adls.tenant", "azure.tenant-id"),
    "adls.client-id": ("azure.client-id",),
    "adls.client-secret": ("azure.client-secret",),
}
"""Of every type: those that follow a key mean it."""

_DELEGATION: Final = f"set {PREFIX}header.X-Iceberg-Access-Delegation to vended-credentials"
_CREDENTIAL: Final = f"set {PREFIX}credential to client-id:client-secret"
_BASIC: Final = f"set {PREFIX}rest.auth.type to basic, with {PREFIX}rest.auth.basic.username and …password"
_CA: Final = "set REQUESTS_CA_BUNDLE for Airflow's and Spark's workers, and remove it"
_GOOGLE: Final = "set GOOGLE_APPLICATION_CREDENTIALS for Airflow's and Spark's workers, and remove it"
_REF: Final = (
    f"a branch of Nessie is set with {PREFIX}type nessie, or is the end of {PREFIX}uri: …/iceberg/BRANCH; a branch of the "
    "tables is iceberg.tables.default-commit-branch"
)

_TEXTS: Final[Mapping[str, str]] = {
    "name": "set iceberg.catalog, which is the catalog's name",
    "catalog-name": "set iceberg.catalog, which is the catalog's name",
    "branch": "set iceberg.tables.default-commit-branch",
    "commit-branch": "set iceberg.tables.default-commit-branch",
    "s3.ssl-enabled": f"write http:// or https:// in {PREFIX}s3.endpoint, and remove it",
    "s3.ssl.enabled": f"write http:// or https:// in {PREFIX}s3.endpoint, and remove it",
    **dict.fromkeys(("gcs.credentials", "gcs.credentials-file", "gcs.json-key-file-path", "gcs.key-file"), _GOOGLE),
    "format-version": "set iceberg.tables.auto-create-props.format-version",
    "group-id": "set iceberg.connect.group-id",
}

_OF_TYPE: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "rest": {
        "uri": ("endpoint", "rest.uri", "rest.url", "rest-uri", "server", "host", "address", "rest-catalog.uri"),
        "credential": (
            *("oauth2.credential", "oauth2-credential", "oauth.credential", "rest.credential", "auth.credential"),
            *("client-credential", "rest-catalog.oauth2.credential", "oauth2-credentials"),
        ),
        "token": (
            *(
                "oauth2.token",
                "oauth2-token",
                "oauth.token",
                "rest.token",
                "bearer-token",
                "bearer.token",
                "auth-token",
            ),
            *(
                "access-token",
                "access_token",
                "authorization",
                "rest-catalog.oauth2.token",
                "pat",
                "personal-access-token",
            ),
        ),
        "oauth2-server-uri": (
            *(
                "oauth2.server-uri",
                "oauth2.server.uri",
                "oauth2.token-uri",
                "token-uri",
                "token-endpoint",
                "oauth2-uri",
            ),
            *("oauth2.token-endpoint", "oauth-server-uri", "auth-server-uri", "oauth2.uri", "token-server-uri"),
        ),
        "scope": ("oauth2.scope", "oauth2-scope", "oauth.scope", "oauth2.scopes", "rest.scope"),
        "audience": ("oauth2.audience", "oauth2-audience"),
        "resource": ("oauth2.resource",),
        "rest.auth.type": ("auth-type", "security", "rest.security", "authentication.type", "authentication"),
        "rest.sigv4-enabled": ("sigv4-enabled", "sigv4", "rest.sigv4", "sigv4.enabled"),
        "rest.signing-region": ("signing-region", "signing.region", "rest.region", "sigv4-region"),
        "rest.signing-name": (
            "signing-name",
            "signing.name",
            "rest.service-name",
            "sigv4-service",
            "rest.signing-service",
        ),
        "warehouse": ("catalog", "project", "database"),
    },
    "nessie": {
        "uri": ("endpoint", "nessie.uri", "server", "host"),
        "ref": ("branch", "reference", "nessie.ref", "default-branch", "ref-name", "branch-name"),
        "authentication.token": ("bearer-token", "access-token", "auth-token", "nessie.token", "oauth2.token"),
        "authentication.type": ("auth-type", "security", "rest.auth.type"),
        "authentication.username": ("username", "user"),
        "authentication.password": ("password",),
        "authentication.oauth2.client-id": ("client-id", "oauth2.client-id"),
        "authentication.oauth2.client-secret": ("client-secret", "oauth2.client-secret"),
        "authentication.oauth2.token-endpoint": ("oauth2.server-uri", "token-endpoint", "oauth2.token-endpoint"),
    },
    "sql": {
        "uri": ("jdbc.uri", "connection-url", "connection.url", "address", "host", "jdbc-catalog.connection-url"),
        "jdbc.user": ("user", "username", "jdbc.username", "connection-user", "connection.user"),
        "jdbc.password": ("password", "jdbc.pass", "passwd", "connection-password", "connection.password"),
        "jdbc.schema-version": ("schema-version",),
    },
    "hive": {"uri": ("metastore.uri", "thrift.uri", "hive.uri", "metastore", "thrift-uri", "hive.metastore.uri")},
    "glue": {
        "glue.id": ("catalog-id", "glue.catalog-id", "glue.catalogid", "glue.account-id", "account-id"),
        "glue.endpoint": ("glue.endpoint-url", "endpoint"),
        "glue.region": ("glue.aws-region", "glue.region-name"),
    },
    "hadoop": {"warehouse": ("path", "location", "root", "base-location")},
}

_TEXTS_OF_TYPE: Final[Mapping[str, Mapping[str, str]]] = {
    "rest": {
        **dict.fromkeys(
            (
                *("client-id", "client.id", "clientId", "client_id", "client-secret", "client.secret", "clientSecret"),
                *(
                    "client_secret",
                    "oauth2.client-id",
                    "oauth2.client-secret",
                    "oauth2-client-id",
                    "oauth2-client-secret",
                ),
                *("oauth.client-id", "oauth.client-secret", "credential.id", "credential.secret", "rest.client-id"),
                *("rest.client-secret", "oauth2.client.id", "oauth2.client.secret"),
                *("auth.client-id", "auth.client-secret"),
            ),
            _CREDENTIAL,
        ),
        **dict.fromkeys(("username", "user", "password", "basic.username", "basic.password", "rest.username"), _BASIC),
        **dict.fromkeys(
            (
                *(
                    "vended-credentials-enabled",
                    "vended-credentials",
                    "access-delegation",
                    "x-iceberg-access-delegation",
                ),
                *("access-delegation-mode", "rest.access-delegation", "credential-vending-enabled"),
            ),
            _DELEGATION,
        ),
        **dict.fromkeys(("ssl.cabundle", "ssl.ca", "verify", "ssl.verify", "ca-bundle", "tls.ca"), _CA),
        **dict.fromkeys(("ref", "nessie.ref", "reference", "default-branch"), _REF),
    },
    "sql": {**dict.fromkeys(("driver", "jdbc.driver", "driver-class"), "the driver follows from the uri: remove it")},
    "nessie": {"ref-hash": "at a hash nothing can be written: remove it"},
}

_HADOOP: Final = re.compile(r"(hadoop\.)?(fs\.(s3a|s3|s3n)\..+)", re.DOTALL)
_HEADERS: Final = re.compile(r"(?:rest\.)?headers?[.-](.+)", re.DOTALL)


def _inverted(keys: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    return {letters(name): key for key, names in keys.items() for name in names}


_ALL: Final = _inverted(_KEYS)
_BY_TYPE: Final = {kind: _inverted(keys) for kind, keys in _OF_TYPE.items()}
_TEXTS_OF_ALL: Final = {letters(name): text for name, text in _TEXTS.items()}
_TEXTS_BY_TYPE: Final = {
    kind: {letters(name): text for name, text in texts.items()} for kind, texts in _TEXTS_OF_TYPE.items()
}


def meant(name: str, kind: str) -> str:
    """Return what to do with a setting that a catalog of this type does not have; empty if that is not known."""
    same = letters(name)
    own = _BY_TYPE.get(kind, {}).get(same)
    if own is not None:
        return f"set {PREFIX}{own}"
    if text := _TEXTS_BY_TYPE.get(kind, {}).get(same):
        return text
    if same in _ALL:
        return f"set {PREFIX}{_ALL[same]}"
    if found := _HADOOP.fullmatch(name):
        return f"set iceberg.hadoop.{found[2]}"
    if kind == "rest" and (header := _HEADERS.fullmatch(name)):
        return f"set {PREFIX}header.{header[1]}"
    return _TEXTS_OF_ALL.get(same, "")
