"""``query``: the tables of a connector's catalog by Spark SQL or PySpark. It only reads."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from floe.cli.connectors import find_connectors, folder_of
from floe.cli.output import UsageError, print_json
from floe.config import Connector
from floe.config.secrets.mask import hide, learn, learn_environment

if TYPE_CHECKING:
    from floe.config.connection_fields import ConnectionFields
    from floe.query.catalog import SparkCatalog
    from floe.query.statements import QueryRows

_MAX_NAMED = 20
_EXAMPLE = "namespace.table"


def run(options: argparse.Namespace) -> int:
    """Print the rows of a statement, or run lines of PySpark; 1 where it fails. Raises UsageError."""
    from floe.query import statements
    from floe.query.exceptions import QueryError
    from floe.query.session import found_jars, jar_places, session

    if options.json and not options.sql.strip():
        msg = "--json needs a statement"
        raise UsageError(msg)
    connector = _connector(options.connector, options.folder)
    try:
        catalog, spark_conn = _catalog_of(connector)
        jars = found_jars(catalog.packages, options.jars, jar_places(spark_conn, os.environ))
        # Spark's own handler ends the statement, and not the prompt
        signal.signal(signal.SIGINT, signal.default_int_handler)
        example = next(iter(connector.tables), _EXAMPLE)
        show = _print_json if options.json else None
        with (
            tempfile.TemporaryDirectory(prefix="floe-query-") as folder,
            session([catalog], jars, Path(folder, "spark.log")) as spark,
        ):
            statements.run(spark, options.sql, catalog.name, example, show)
    except QueryError as error:
        print(f"error: {hide(str(error))}", file=sys.stderr)
        return 1
    return 0


def _connector(name: str | None, folder: Path | None) -> Connector:
    """Return the connector that is named; without a name the only one of the folder, or one of those on one catalog."""
    files = find_connectors([name] if name else [], folder)
    found = [file.connector for file in files if file.connector is not None]
    if not found:
        problems = [str(file.error) for file in files if file.error is not None]
        msg = (
            problems[0]
            if len(problems) == 1
            else f"there is no connector that can be used in {name or folder_of(folder)}"
        )
        raise UsageError(msg)
    if len({_place(one) for one in found}) > 1:
        names = ", ".join(one.name for one in found[:_MAX_NAMED])
        msg = f"these connectors have several catalogs: name one of them by --connector ({names})"
        raise UsageError(msg)
    return found[0]


def _place(connector: Connector) -> tuple[object, ...]:
    """Return what makes the catalogs of two connectors the same one."""
    return connector.catalog.type, connector.catalog.name, connector.catalog.properties, connector.connections.catalog


def _catalog_of(connector: Connector) -> tuple[SparkCatalog, ConnectionFields | None]:
    """Return a connector's catalog with all that is looked up for it, and the connection to Spark. Raises QueryRefused."""
    from floe.catalogs.providers.base import own_settings
    from floe.cli.settings import look_up
    from floe.query.catalog import SparkCatalog
    from floe.query.exceptions import QueryRefused

    learn_environment(os.environ)
    found = look_up(connector)
    if why := found.unknown.get("catalog"):
        message = f"the catalog of connector {connector.name!r} is not known here: {why}. No statement was run"
        raise QueryRefused(message)
    spec = found.connector.catalog
    known = own_settings(spec)
    learn(known)
    return SparkCatalog.of(spec, known), found.spark


def _print_json(found: QueryRows) -> None:
    from floe.query.statements import as_json

    print_json({"rows": as_json(found.columns, found.rows), "is_all": found.is_all})
