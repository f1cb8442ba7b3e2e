"""Keys of Java's GCSFileIO and ADLSFileIO, and those of PyIceberg's that Arrow's clients do not have."""

from typing import Final

from floe.config.catalogs.base import CatalogKey, no_effect, refused, taken, translated

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
