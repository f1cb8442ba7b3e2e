"""Catalogs of AWS Glue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from floe.catalogs.errors import Answer, Rows, answer_in, answer_of
from floe.catalogs.metadata_files import remove_old_metadata
from floe.catalogs.providers.base import PlainProvider, catalog_settings

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

    from floe.config.sections.catalog import CatalogSpec

_CODES: Final[Mapping[str, Answer | tuple[Answer, Answer]]] = {
    **dict.fromkeys(
        (
            *("AccessDenied", "AccessDeniedException", "AlreadyExistsException", "EntityNotFoundException"),
            *("ExpiredToken", "ExpiredTokenException", "FederationSourceException", "GlueEncryptionException"),
            *("IncompleteSignature", "IncompleteSignatureException", "InvalidAccessKeyId", "InvalidClientTokenId"),
            *("InvalidInputException", "InvalidSignatureException", "InvalidStateException", "MalformedQueryString"),
            *("MissingAuthenticationToken", "MissingAuthenticationTokenException", "NoSuchBucket", "OptInRequired"),
            *("NotAuthorized", "OperationNotSupportedException", "PermissionTypeMismatchException", "RequestExpired"),
            *("ResourceNumberLimitExceededException", "SerializationException", "SignatureDoesNotMatch"),
            *("UnknownOperationException", "UnrecognizedClientException", "ValidationError", "ValidationException"),
        ),
        Answer.REFUSED,
    ),
    **dict.fromkeys(("ConcurrentModificationException", "VersionMismatchException"), Answer.CONFLICT),
    # it was not done, and will be later
    **dict.fromkeys(
        (
            *("BandwidthLimitExceeded", "LimitExceededException", "ProvisionedThroughputExceededException"),
            *("RequestLimitExceeded", "RequestThrottled", "RequestThrottledException", "ResourceNotReadyException"),
            *("SlowDown", "Throttling", "ThrottledException", "ThrottlingException", "TooManyRequestsException"),
        ),
        Answer.UNREACHABLE,
    ),
    **dict.fromkeys(
        (
            *("InternalError", "InternalFailure", "InternalServerError", "InternalServiceException"),
            *("OperationTimeoutException", "RequestTimeout", "RequestTimeoutException", "ServiceUnavailable"),
            *("ServiceUnavailableException", "FederationSourceRetryableException"),
        ),
        (Answer.UNREACHABLE, Answer.UNKNOWN),
    ),
    # of who is between, with a body that is none of AWS': botocore gives the status as the code
    **dict.fromkeys(("401", "403"), Answer.REFUSED),
    "429": Answer.UNREACHABLE,
    **dict.fromkeys(("500", "502", "503", "504"), (Answer.UNREACHABLE, Answer.UNKNOWN)),
}
"""Codes of the errors of Glue, of S3 behind it and of AWS before both; a pair as in ``Rows``."""

_BOTOCORE: Final = "botocore.exceptions."
_ROWS: Final[Rows] = {
    f"{_BOTOCORE}ParamValidationError": Answer.REFUSED,
    f"{_BOTOCORE}HTTPClientError": (Answer.UNREACHABLE, Answer.UNKNOWN),
    f"{_BOTOCORE}ConnectionError": (Answer.UNREACHABLE, Answer.UNKNOWN),
}

_NOT_SET: Final = {
    "NoCredentialsError": "there are no AWS credentials: set client.access-key-id and client.secret-access-key, "
    "floe.aws.conn-id, or the environment of Airflow's and Spark's workers",
    "PartialCredentialsError": "the AWS credentials have a part only: set all of them in one place",
    "NoRegionError": "there is no AWS region: set iceberg.catalog.client.region",
    "ProfileNotFound": "there is no such AWS profile: set client.profile-name to one that the workers have",
}
"""What to correct, by botocore's errors."""


class GlueProvider(PlainProvider):
    """AWS Glue. The client writes metadata files, and swaps the table's version by a compared one."""

    modules = ("floe.catalogs.providers.glue.catalog",)

    def open(self, spec: CatalogSpec) -> Catalog:
        """Open it. Raises ValueError for settings that make no client, ImportError without boto3."""
        try:
            from botocore.exceptions import BotoCoreError

            from floe.catalogs.providers.glue.catalog import CheckedGlueCatalog
        except ModuleNotFoundError as error:
            msg = f"{error.name!r} is not installed here: pip install 'airflow-provider-floe[aws]'"
            raise ImportError(msg) from error
        try:
            return CheckedGlueCatalog(spec.name, **_client_settings(catalog_settings(spec)))
        except BotoCoreError as error:
            raise ValueError(_NOT_SET.get(type(error).__name__, str(error))) from error

    def classify(self, error: Exception, *, was_sent: bool) -> Answer:
        """Tell what Glue refuses, and what it did not do, from unknown outcomes."""
        found = _CODES.get(_code_of(error))
        if found is not None:
            return found if isinstance(found, Answer) else found[was_sent]
        found = answer_in(_ROWS, error, was_sent=was_sent)
        return found if found is not None else answer_of(error, was_sent=was_sent)

    def misconfiguration(self, spec: CatalogSpec, error: Exception) -> str | None:
        """Name credentials, a region or a profile that is missing."""
        problem = _NOT_SET.get(type(error).__name__)
        return problem and f"catalog {spec.name!r} cannot be asked: {problem}. Nothing was read or written."

    def tidy(self, table: Table, after: TableMetadata) -> None:
        """Remove old metadata files: Glue does not."""
        remove_old_metadata(table, after)


def _client_settings(settings: dict[str, object]) -> dict[str, object]:
    """Return the settings as PyIceberg's Glue client takes them: botocore wants numbers."""
    attempts = settings.get("glue.max-retries")
    return settings if attempts is None else {**settings, "glue.max-retries": int(str(attempts))}


def _code_of(error: Exception) -> str:
    """Return the code of an answer of AWS, empty for other errors."""
    response = getattr(error, "response", None)
    found = response.get("Error", {}).get("Code", "") if isinstance(response, dict) else ""
    return str(found)
