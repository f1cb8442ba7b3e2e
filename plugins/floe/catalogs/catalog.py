"""Open a connector's catalog and its tables.

Catalog properties go to PyIceberg as they are; what they leave open is taken from PyIceberg's own configuration
(``PYICEBERG_CATALOG__<NAME>__…`` and ``.pyiceberg.yaml``), so that addresses and secrets can stay out of files.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import (
    CommitFailedException,
    ForbiddenError,
    NamespaceAlreadyExistsError,
    NoSuchNamespaceError,
    NoSuchTableError,
    TableAlreadyExistsError,
    UnauthorizedError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)

from floe.catalogs.exceptions import (
    CatalogError,
    CatalogMisconfigured,
    CatalogUnreachable,
    TableMissing,
    TableUnsuitable,
)
from floe.config import Connector, PartitionTerm
from floe.config.secret import without_secrets

FIRST_PARTITION_FIELD_ID = 1000


@dataclass(frozen=True)
class Tables:
    """The tables of one connector in their catalog."""

    catalog: Catalog
    connector: Connector

    @classmethod
    def of(cls, connector: Connector) -> "Tables":
        """Open the catalog of a connector. Raises CatalogMisconfigured or CatalogUnreachable."""
        with _told(connector, f"open catalog {connector.catalog_name!r}"):
            try:
                catalog = load_catalog(connector.catalog_name, **connector.catalog_props)
            except (ValueError, KeyError, TypeError, ImportError) as error:
                msg = (
                    f"catalog {connector.catalog_name!r} cannot be opened: {error}. Check iceberg.catalog.* in the "
                    f"connector and PYICEBERG_CATALOG__{connector.catalog_name.upper()}__* in the environment."
                )
                told, cause = _without_secrets(connector, msg, error)
                raise CatalogMisconfigured(told) from cause
        return cls(catalog, connector)

    def load(self, name: str) -> Table | None:
        """Load a table; None when it does not exist."""
        with _told(self.connector, f"load table {name!r}"):
            try:
                return self.catalog.load_table(name)
            except (NoSuchTableError, NoSuchNamespaceError):
                return None

    def require(self, name: str) -> Table:
        """Load a table. Raises TableMissing."""
        table = self.load(name)
        if table is None:
            msg = (
                f"table {name!r} does not exist in catalog {self.connector.catalog_name!r}: create it, or set "
                "iceberg.tables.auto-create-enabled to true"
            )
            raise TableMissing(msg)
        return table

    def create(self, name: str, schema: Schema) -> Table:
        """Create a table with its namespaces; the one that is there when somebody else was faster.

        Raises TableUnsuitable when the partitioning asked for does not fit the schema.
        """
        spec = partition_spec(schema, self.connector.partition_by, name)
        with _told(self.connector, f"create table {name!r}"):
            namespace = name.split(".")[:-1]
            for depth in range(1, len(namespace) + 1):
                self._create_namespace(".".join(namespace[:depth]))
            properties: Mapping[str, str] = {
                "commit.manifest-merge.enabled": "true",
                **self.connector.auto_create_props,
            }
            try:
                return self.catalog.create_table(name, schema, partition_spec=spec, properties=dict(properties))
            except TableAlreadyExistsError:
                return self.catalog.load_table(name)

    def changing(self, name: str) -> AbstractContextManager[None]:
        """Turn what a change of a table raises into floe's errors; conflicts pass."""
        return _told(self.connector, f"change table {name!r}")

    def _create_namespace(self, namespace: str) -> None:
        try:
            self.catalog.create_namespace(namespace)
        except (NamespaceAlreadyExistsError, ForbiddenError):
            # somebody else made it, or may not make it: the table's creation tells which
            return


def partition_spec(schema: Schema, terms: tuple[PartitionTerm, ...], table: str) -> PartitionSpec:
    """Build the spec of a new table; field names are those that Iceberg's Java builder gives.

    Raises TableUnsuitable, naming the term, for a missing column or one that the transform does not take.
    """
    if not terms:
        return UNPARTITIONED_PARTITION_SPEC
    fields = []
    for i, term in enumerate(terms):
        transform, suffix = _transform(term)
        try:
            column = schema.find_field(term.column)
        except ValueError as error:
            msg = (
                f"table {table!r} cannot be partitioned by {term.column!r}: the records have no such field (they have "
                f"{sorted(schema.column_names)[:20]}); mend iceberg.tables.default-partition-by"
            )
            raise TableUnsuitable(msg) from error
        if not transform.can_transform(column.field_type):
            msg = (
                f"table {table!r} cannot be partitioned by {term.transform}({term.column}): the column is of type "
                f"{column.field_type}; create the table yourself with a suitable type, or mend "
                "iceberg.tables.default-partition-by"
            )
            raise TableUnsuitable(msg)
        if suffix and f"{term.column}{suffix}" in schema.column_names:
            msg = (
                f"table {table!r} cannot be partitioned by {term.transform}({term.column}): the partition field would be "
                f"called {term.column + suffix!r}, as a column is; create the table yourself, or mend "
                "iceberg.tables.default-partition-by"
            )
            raise TableUnsuitable(msg)
        fields.append(
            PartitionField(column.field_id, FIRST_PARTITION_FIELD_ID + i, transform, f"{term.column}{suffix}")
        )
    return PartitionSpec(*fields)


def _transform(term: PartitionTerm) -> tuple[Transform, str]:  # type: ignore[type-arg]
    match term.transform:
        case "identity":
            return IdentityTransform(), ""
        case "year":
            return YearTransform(), "_year"
        case "month":
            return MonthTransform(), "_month"
        case "day":
            return DayTransform(), "_day"
        case "hour":
            return HourTransform(), "_hour"
        case "bucket":
            return BucketTransform(term.argument or 0), "_bucket"
        case "truncate":
            return TruncateTransform(term.argument or 0), "_trunc"
        case other:
            msg = f"partition transform {other!r} is not known; use identity, year, month, day, hour, bucket, truncate"
            raise TableUnsuitable(msg)


@contextmanager
def _told(connector: Connector, action: str) -> Iterator[None]:
    """Turn what PyIceberg and its stores raise into floe's errors; conflicts and floe's own pass."""
    try:
        yield
    except (CatalogError, CommitFailedException):
        raise
    except (UnauthorizedError, ForbiddenError) as error:
        msg = f"not allowed to {action}: {error}. Check the catalog's credentials and grants."
        told, cause = _without_secrets(connector, msg, error)
        raise CatalogMisconfigured(told) from cause
    except PermissionError as error:
        msg = f"could not {action}: {error}. The warehouse must be writable for Airflow's and Spark's workers."
        told, cause = _without_secrets(connector, msg, error)
        raise CatalogMisconfigured(told) from cause
    except Exception as error:  # noqa: BLE001 - raised again as one of floe's
        # the store behind a catalog is anything: requests, SQLAlchemy, fsspec, Arrow
        msg = (
            f"could not {action}: {type(error).__name__}: {_first_line(error)}. Is catalog "
            f"{connector.catalog_name!r} up? Its address comes from iceberg.catalog.* or PyIceberg's configuration."
        )
        told, cause = _without_secrets(connector, msg, error)
        raise CatalogUnreachable(told) from cause


def _without_secrets(connector: Connector, msg: str, error: Exception) -> tuple[str, Exception | None]:
    """Hide what a library quotes of addresses and tokens: in the message, and then its own words altogether."""
    told = without_secrets(msg, connector.properties)
    return told, error if told == msg else None


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")[:300]
