"""Catalogs of AWS Glue: Java's GlueCatalog."""

from typing import Final

from floe.config.catalogs.base import CatalogType, no_effect, refused, taken, translated
from floe.config.engine import Engine

_ROLE: Final = (
    "the Glue client does not assume a role itself. Make a profile with role_arn in the AWS configuration of Airflow's and "
    "Spark's workers, and name it by client.profile-name"
)

MAX_NAME: Final = 255
"""Characters of a name in Glue."""

_JVM: Final = {
    "aws.accessKeyId": ("glue.access-key-id", "client.access-key-id"),
    "aws.secretAccessKey": ("glue.secret-access-key", "client.secret-access-key"),
    "aws.sessionToken": ("glue.session-token", "client.session-token"),
}
"""The keys of Glue, for which Iceberg has no property."""

GLUE: Final = CatalogType(
    "glue",
    Engine("floe.catalogs.providers.glue.provider:GlueProvider"),
    warehouse="either",
    has_address=False,
    jvm_properties=_JVM,
    needs_aws=True,
    implementations=("org.apache.iceberg.aws.glue.GlueCatalog",),
    keys=(
        taken("glue.id", "the AWS account with the Data Catalog; the credentials' own"),
        taken("glue.endpoint", "another address of Glue, such as a VPC endpoint"),
        taken("glue.skip-archive", "`false`: Glue keeps each version of a table, up to its limit; `true`"),
        taken("glue.region", "`client.region`"),
        taken("glue.access-key-id", "`client.access-key-id`, then the environment"),
        taken("glue.secret-access-key", "`client.secret-access-key`, then the environment"),
        taken("glue.session-token", "`client.session-token`, then the environment"),
        taken("glue.profile-name", "`client.profile-name`"),
        taken("glue.max-retries", "attempts of one request; 10"),
        taken("glue.retry-mode", "of botocore: `standard`, `adaptive` or `legacy`; `standard`"),
        no_effect("glue.skip-name-validation", "names are sent as they are, and Glue decides"),
        no_effect("glue.lakeformation-enabled", "Lake Formation's grants hold for floe's user as for every other"),
        translated("client.assume-role.region", "client.region", "where the role's Glue and S3 are"),
        refused("client.assume-role.arn", _ROLE),
        no_effect("client.assume-role.session-name", "the profile that assumes the role has its own role_session_name"),
        no_effect("client.assume-role.timeout-sec", "the profile that assumes the role has its own duration_seconds"),
        refused("client.assume-role.external-id", _ROLE),
        refused("client.assume-role.tags.*", _ROLE),
        refused("client.factory", f"it names a Java class: remove it. For a role: {_ROLE}"),
        no_effect("client.credentials-provider.*", "it configures a Java class"),
        no_effect("uri", "Glue's address is glue.endpoint, or follows from the region"),
        no_effect("s3.write.*", "it tags objects, which PyIceberg does not"),
        no_effect("dynamodb.*", "Glue's own versions guard commits: no lock table is needed"),
        no_effect("lock-impl", "Glue's own versions guard commits: no lock is needed"),
        no_effect("lock.*", "it belongs to lock-impl"),
    ),
    name_problem=lambda table: _name_problem(table),
    folds_case=True,
)


def _name_problem(table: str) -> str | None:
    """Return why Glue takes no table of that name."""
    parts = table.split(".")
    if len(parts) != 2:
        return "Glue has databases without others in them: write it as database.table"
    for part in parts:
        if part != part.lower():
            return f"Glue has names in lower case only: write {part[:100].lower()!r} in the place of {part[:100]!r}"
        if len(part) > MAX_NAME:
            return f"{part[:40]!r}… has {len(part)} characters, Glue takes {MAX_NAME}: shorten it"
    return None
