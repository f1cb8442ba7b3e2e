"""`make query`: queries of `floe.query` on the tables of the local stack, with jars that are fetched once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from floe.config import parse_connector
from floe.config.document import parse_document
from floe.config.exceptions import ConfigError
from floe.config.properties import Properties
from floe.config.providers.allow_list import OperatorSettings
from floe.config.sections.catalog import CatalogSpec
from floe.query.catalog import SparkCatalog
from floe.query.exceptions import QueryError
from floe.query.session import session
from floe.query.statements import print_table, rows_of, run
from stack import jars
from stack.exceptions import QueryFailed, StackError
from stack.local import CATALOG, Local
from stack.progress import step

_EXAMPLE = "rpc.pizzas"


def query(local: Local, sql: str = "", connector: Path | None = None) -> None:
    """Print the rows of a statement; without one run the lines of stdin, or prompt for them, with ``spark`` in them.

    ``connector``: a file whose catalog is the session's, too, and its default. Raises StackError.
    """
    require_tables(local)
    try:
        catalogs = [of_demo(CATALOG, local.catalog)]
        if connector is not None:
            own = of_connector(connector, CATALOG, local.catalog)
            catalogs = [own, *(one for one in catalogs if one.name != own.name)]
        found = fetched(catalogs, local.settings.jars)
        with ExitStack() as stack:
            with step("Spark with Iceberg"):
                spark = stack.enter_context(session(catalogs, found, local.settings.state / "query.log"))
            if sql.strip():
                with step("the statement"):
                    rows = rows_of(spark, sql)
                print_table(rows)
            else:
                run(spark, sql, catalogs[0].name, _EXAMPLE)
    except QueryError as error:
        raise QueryFailed(str(error)) from error


def require_tables(local: Local) -> None:
    """Raise StackError if there is no catalog, or if its tables are in a store that is down."""
    file = local.settings.state / "catalog.db"
    if not file.exists():
        message = (
            f"there is no catalog {file}: start the stack by `make up` (with the same FLOE_STATE), whose first run "
        )
        message += "makes it"
        raise StackError(message)
    if local.has_store and not local.store.running:
        message = "the tables are in the S3 store, which is down: start it by `make up STORE=s3`"
        raise StackError(message)


def of_demo(name: str, properties: Mapping[str, str]) -> SparkCatalog:
    """Return the catalog of the local stack; ``properties``: PyIceberg's, of an SQL catalog."""
    return SparkCatalog.of(CatalogSpec("sql", name, Properties({"type": "sql"})), properties)


def of_connector(file: Path, name: str, properties: Mapping[str, str]) -> SparkCatalog:
    """Return the catalog of a connector's file; ``name`` and ``properties``: the local stack's, which it may mean.

    Raises StackError for a file that is missing or no connector, and QueryRefused as :meth:`SparkCatalog.of` does.
    """
    try:
        document, operator = parse_document(file.read_bytes()), OperatorSettings.present()
        connector = parse_connector(document, default_name=file.stem, operator=operator)
    except OSError as error:
        message = f"connector {str(file)!r} cannot be read ({error.strerror}): name a file, as in "
        message += "dags/connectors/pizzas-on-ice.json"
        raise StackError(message) from error
    except ConfigError as error:
        message = f"{error}\nCorrect the file; `make check CONNECTOR={file}` reads it the same way."
        raise StackError(message) from error
    spec = connector.catalog
    return SparkCatalog.of(spec, properties if spec.name == name and spec.type == "sql" else None)


def fetched(catalogs: Sequence[SparkCatalog], folder: Path) -> list[Path]:
    """Return the jars that catalogs need, each set fetched once, with a line of progress. Raises DownloadFailed."""
    packages = dict.fromkeys(package for catalog in catalogs for package in catalog.packages)
    with step("Iceberg's jars for Spark (downloaded the first time)", jars.arrived(folder)):
        return [jar for package in packages for jar in jars.resolve([package], folder, transitive=False)]
