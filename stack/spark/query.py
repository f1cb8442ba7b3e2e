"""`make query`: the tables of the local stack by Spark SQL and PySpark. It only reads."""

from __future__ import annotations

import code
import difflib
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from stack.exceptions import QueryFailed, StackError
from stack.local import CATALOG, Local
from stack.progress import say
from stack.spark.catalog import of_connector, of_demo
from stack.spark.session import session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_ROWS: Final = 1000
MAX_CELL: Final = 200
"""Characters of a value that are shown."""
_NEAR: Final = 5
_BANNER: Final = """`spark` is a session on catalog {catalog!r}, for example:
  spark.table("{catalog}.rpc.pizzas").show(5)
  sql("select count(*) from rpc.pizzas")
Ctrl-D ends it."""


def query(local: Local, sql: str = "", connector: Path | None = None) -> None:
    """Print the rows of a statement; without one run the lines of stdin, or prompt for them, with ``spark`` in them.

    ``connector``: a file whose catalog is the session's, too, and its default. Raises StackError.
    """
    require_tables(local)
    catalogs = [of_demo(CATALOG, local.catalog)]
    if connector is not None:
        own = of_connector(connector, CATALOG, local.catalog)
        catalogs = [own, *(one for one in catalogs if one.name != own.name)]
    with session(catalogs, local.settings.jars, local.settings.state / "query.log") as spark:
        if sql.strip():
            print_rows(spark, sql)
        elif sys.stdin.isatty():
            with suppress(ImportError):
                import readline  # noqa: F401 - lines can be edited and called again
            Prompt(spark).interact(_BANNER.format(catalog=catalogs[0].name), exitmsg="")
        else:
            run_lines(spark, sys.stdin.read())


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


def print_rows(spark: SparkSession, sql: str) -> None:
    """Run a statement and print its rows as a table, at most MAX_ROWS. Raises QueryFailed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        found = spark.sql(sql.strip().removesuffix(";"))
        rows = found.take(MAX_ROWS + 1)
    except (PySparkException, Py4JError) as error:
        raise QueryFailed(explain(error, spark)) from error
    say(as_table(found.columns, rows[:MAX_ROWS]))
    count = f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    say(f"The first {MAX_ROWS} rows; add a limit to the statement." if len(rows) > MAX_ROWS else count)


def run_lines(spark: SparkSession, lines: str) -> None:
    """Run lines of Python with ``spark`` in them. Raises QueryFailed for an error of Spark's; others are the lines' own."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        # what was typed is run, as at any prompt of Python
        exec(compile(lines, "<stdin>", "exec"), names(spark))  # noqa: S102
    except (PySparkException, Py4JError) as error:
        raise QueryFailed(explain(error, spark)) from error


class Prompt(code.InteractiveConsole):
    """Python's prompt with a session; an error of Spark's is a few words instead of its frames."""

    def __init__(self, spark: SparkSession) -> None:
        super().__init__(names(spark))
        self._spark = spark

    def showtraceback(self) -> None:
        """Print the error that is being handled."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        error = sys.exc_info()[1]
        if isinstance(error, QueryFailed):
            self.write(f"{error}\n")
        elif isinstance(error, PySparkException | Py4JError):
            self.write(f"{explain(error, self._spark)}\n")
        else:
            super().showtraceback()


def names(spark: SparkSession) -> dict[str, object]:
    """Return what lines of Python may use: the session, and a function that prints the rows of a statement."""
    return {"spark": spark, "sql": lambda text: print_rows(spark, text)}


def as_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Draw rows; values are one line each, and only shown by a terminal, whatever is in them."""
    from tabulate import tabulate

    drawn = [[cell(value) for value in row] for row in rows]
    return str(tabulate(drawn, [cell(name) for name in columns], tablefmt="psql", disable_numparse=True))


def cell(value: object) -> str:
    """Write a value on one line of at most MAX_CELL characters."""
    text = "NULL" if value is None else value.hex() if isinstance(value, bytes | bytearray) else str(value)
    shown = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text[: MAX_CELL + 1])
    return shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 1] + "…"


def explain(error: Exception, spark: SparkSession) -> str:
    """Return what is wrong with a statement in a few words, and what to do next."""
    text = str(error)
    if "readonly database" in text or "read-only" in text:
        return "no table was changed: `make query` only reads. Tables change by connectors, or by an engine of your own"
    if "TABLE_OR_VIEW_NOT_FOUND" in text:
        return missing(relation(error), table_names(spark))
    return first_lines(text)


def relation(error: Exception) -> str:
    """Return the name that Spark has not found, without its quotes."""
    parameters: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    return str(parameters.get("relationName", "")).replace("`", "")


def missing(name: str, tables: Sequence[str]) -> str:
    """Say that a table is not there, and which are."""
    what = f"there is no table {cell(name)}" if name else "there is no such table"
    if not tables:
        return f"{what}: the catalog has none yet. A connector's first run makes its tables; see `make status`"
    wanted = name.removeprefix(f"{CATALOG}.")
    near = difflib.get_close_matches(wanted, tables, n=_NEAR, cutoff=0.5)
    if near:
        return f"{what}. Nearest: {', '.join(near)}"
    more = ", …" if len(tables) > _NEAR else ""
    return f"{what}. Tables are: {', '.join(tables[:_NEAR])}{more}"


def table_names(spark: SparkSession) -> list[str]:
    """List the tables of the default catalog as ``namespace.table``; those of nested namespaces are left out."""
    namespaces = [str(row[0]) for row in spark.sql("show namespaces").collect()]
    return [
        f"{namespace}.{row['tableName']}"
        for namespace in namespaces
        for row in spark.sql(f"show tables in `{namespace.replace('`', '``')}`").collect()
    ]


def first_lines(text: str) -> str:
    """Return what Spark says before it prints a plan or Java's frames."""
    kept: list[str] = []
    for line in text.strip().splitlines():
        if line.lstrip().startswith(("'", "+-", "at ", "JVM stacktrace", ":- ")) and kept:
            break
        kept.append(line)
        if line.endswith(";"):  # a plan follows
            break
    return "\n".join(kept).rstrip("; \n") or "Spark failed without a message: see query.log in the state folder"
