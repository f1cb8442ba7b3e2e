"""Keys of Java's GCSFileIO and ADLSFileIO. No test has run on Google's or Azure's stores: they go through by property."""

from collections.abc import Iterator, Mapping
from typing import Final

from floe.config.catalogs.base import PREFIX, CatalogKey, no_effect, refused, translated

_SAS: Final = "adls.sas-token"
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
    refused("gcs.no-auth", "Arrow's client logs in. Make the login of the workers one that may read, and remove it"),
    refused("gcs.impersonate.*", "Arrow's client does not impersonate. Use the service account itself, and remove it"),
)
ADLS_KEYS: Final[tuple[CatalogKey, ...]] = (
    translated("adls.auth.shared-key.account.name", "adls.account-name"),
    translated("adls.auth.shared-key.account.key", "adls.account-key"),
    translated(f"{_SAS}.*", _SAS, "the account is the first part of what follows"),
    no_effect("adls.read.*", _CHUNKS),
    no_effect("adls.write.*", _CHUNKS),
    no_effect("adls.refresh-credentials-*", "a table is loaded again by the next task, with new credentials"),
    refused(
        "adls.connection-string.*",
        "Arrow's client takes none. Set adls.account-name and adls.account-key, or adls.sas-token",
    ),
    refused("adls.token-credential-provider*", "it names a Java class. Give the workers an identity, and remove it"),
)


def problems(given: Mapping[str, str]) -> Iterator[str]:
    """Yield SAS tokens of several accounts: PyIceberg has one for all."""
    accounts = sorted(key[len(_SAS) + 1 :] for key in given if key[: len(_SAS) + 1] == f"{_SAS}.")
    if len(accounts) > 1:
        yield f"{PREFIX}{_SAS}.* names {len(accounts)} accounts ({', '.join(accounts)[:200]}): PyIceberg has one, keep one"


def to_pyiceberg(given: Mapping[str, str], made: Mapping[str, str]) -> dict[str, str]:
    """Return values in PyIceberg's form: the account of a SAS token is a property of its own."""
    found = next((key.removeprefix(f"{_SAS}.") for key in given if key.startswith(f"{_SAS}.")), "")
    account = found.partition(".")[0]
    return {**({"adls.account-name": account} if account else {}), **made}
