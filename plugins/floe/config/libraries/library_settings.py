"""The known settings that floe passes from connector files to its libraries, by library.

The tables in ``docs/reference/configuration.md`` are compared with these lists, and a
test compares the lists with the libraries.
pyarrow and fsspec get theirs through PyIceberg's FileIO. Spark gets none: its settings are the Airflow connection's.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from floe.config.keys.spelling import NameSet, spelled_as
from floe.config.libraries.table_property_names import KNOWN_PROPERTIES

FILE_IO: Final = (
    "adls.account-host",
    "adls.account-key",
    "adls.account-name",
    "adls.anon",
    "adls.blob-storage-authority",
    "adls.blob-storage-scheme",
    "adls.client-id",
    "adls.client-secret",
    "adls.connection-string",
    "adls.credential",
    "adls.dfs-storage-authority",
    "adls.dfs-storage-scheme",
    "adls.sas-token",
    "adls.sas-token.*",
    "adls.tenant-id",
    "adls.token",
    "client.access-key-id",
    "client.profile-name",
    "client.region",
    "client.role-arn",
    "client.role-session-name",
    "client.secret-access-key",
    "client.session-token",
    "gcs.access",
    "gcs.cache-timeout",
    "gcs.consistency",
    "gcs.default-bucket-location",
    "gcs.oauth2.token",
    "gcs.oauth2.token-expires-at",
    "gcs.project-id",
    "gcs.requester-pays",
    "gcs.service.host",
    "gcs.session-kwargs",
    "gcs.version-aware",
    "hdfs.host",
    "hdfs.kerberos_ticket",
    "hdfs.port",
    "hdfs.user",
    "hf.endpoint",
    "hf.token",
    "s3.access-key-id",
    "s3.anonymous",
    "s3.connect-timeout",
    "s3.endpoint",
    "s3.force-virtual-addressing",
    "s3.profile-name",
    "s3.proxy-uri",
    "s3.region",
    "s3.request-timeout",
    "s3.resolve-region",
    "s3.role-arn",
    "s3.role-session-name",
    "s3.secret-access-key",
    "s3.server-side-encryption",
    "s3.session-token",
    "s3.signer",
    "s3.signer.endpoint",
    "s3.signer.uri",
    "s3.sse-kms-key-id",
)
"""Settings that PyIceberg's FileIO converts to those of pyarrow's and fsspec's file systems."""

REST_CATALOG: Final = (
    "audience",
    "credential",
    "header.*",
    "namespace-separator",
    "oauth2-server-uri",
    "prefix",
    "resource",
    "rest-page-size",
    "rest.signing-name",
    "rest.signing-region",
    "rest.sigv4-enabled",
    "rest.sigv4.max-retries",
    "scan-planning-mode",
    "scope",
    "snapshot-loading-mode",
    "token",
    "view-endpoints-supported",
)
SQL_CATALOG: Final = ("echo", "init_catalog_tables", "pool_pre_ping", "schema_version")
CATALOG: Final = ("type", "uri", "warehouse", *REST_CATALOG, *SQL_CATALOG, *FILE_IO)
"""Settings that PyIceberg's catalogs read; ``uri`` and ``warehouse`` are for both."""

CATALOG_NAMES: Final = NameSet(CATALOG)
TABLE_NAMES: Final = NameSet(KNOWN_PROPERTIES)

_MAX_SUGGESTIONS = 10  # each compares with the whole list
_SHOWN_CHARACTERS = 200


def unknown_settings(
    prefix: str,
    names: Iterable[str],
    known: NameSet,
    library: str,
    meant: Callable[[str], str] = lambda _: "",
    beside: Iterable[str] = (),
) -> Iterator[str]:
    """Yield a message for each name that is not in a list, with the known one that it means or is a spelling of.

    ``meant`` says what to do with names of others; ``beside`` are further names that are not in the list and known.
    """
    unknown = [name for name in names if name not in known]
    all_known = (*known, *beside) if unknown else ()
    for number, name in enumerate(unknown):
        hint = ": remove it"
        if number < _MAX_SUGGESTIONS:
            if text := meant(name):
                hint = f"; {text}"
            elif near := spelled_as(name, all_known):
                hint = f"; the nearest known one is {prefix}{near}"
        yield f"{prefix}{name[:_SHOWN_CHARACTERS]} is no setting of {library} that floe hands on{hint}"
