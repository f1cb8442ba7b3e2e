"""Statements in SQL and lines of PySpark on a session: given, of stdin, or of a prompt."""

from __future__ import annotations

import code
import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from floe.config.secrets.mask import hide
from floe.query.exceptions import QueryError, QueryFailed
from floe.query.pyspark_internals import READS_ONLY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MAX_ROWS: Final = 1000
_BANNER: Final = """`spark` is a session on catalog {catalog!r}, for example:
  spark.table("{catalog}.{table}").show(5)
  sql("select count(*) from {table}")
Ctrl-D ends it."""


class QueryRows(NamedTuple):
    """The first rows of a statement; ``is_all``: there are no more."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_all: bool


def run(
    spark: SparkSession, sql: str, catalog: str, table: str, show: Callable[[QueryRows], None] | None = None
) -> None:
    """Print the rows of a statement; without one run the lines of stdin, or prompt for them, with ``spark`` in them.

    ``table``: an example for the prompt. ``show``: prints rows, by default as a table. Raises QueryError.
    """
    if sql.strip():
        (show or print_table)(rows_of(spark, sql))
    elif sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - lines can be edited and called again
        Prompt(spark).interact(_BANNER.format(catalog=catalog, table=table), exitmsg="")
    else:
        run_lines(spark, sys.stdin.read())


def rows_of(spark: SparkSession, sql: str) -> QueryRows:
    """Run a statement and return its rows, at most MAX_ROWS. Raises QueryRefused, QueryFailed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        found = spark.sql(sql.strip().removesuffix(";"))
        rows = found.take(MAX_ROWS + 1)
    except (PySparkException, Py4JError) as error:
        raise QueryFailed(explain(error, spark)) from error
    return QueryRows(found.columns, rows[:MAX_ROWS], len(rows) <= MAX_ROWS)


def print_rows(spark: SparkSession, sql: str) -> None:
    """Run a statement and print its rows as a table. Raises QueryRefused, QueryFailed."""
    print_table(rows_of(spark, sql))


def print_table(found: QueryRows) -> None:
    """Print rows as a table, and how many there are."""
    print(as_table(found.columns, found.rows), flush=True)
    count = f"{len(found.rows)} row{'' if len(found.rows) == 1 else 's'}"
    print(count if found.is_all else f"The first {MAX_ROWS} rows; add a limit to the statement.", flush=True)


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
        if isinstance(error, QueryError):
            self.write(f"{error}\n")
        elif isinstance(error, PySparkException | Py4JError):
            self.write(f"{explain(error, self._spark)}\n")
        else:
            super().showtraceback()


def names(spark: SparkSession) -> dict[str, object]:
    """Return what lines of Python may use: the session, and a function that prints the rows of a statement."""
    return {"spark": spark, "sql": lambda text: print_rows(spark, text)}


# Errors of Spark in a few words, with the next step.


_NEAR: Final = 5
_READ_ONLY: Final = ("readonly database", "read-only")
_NO_CLIENT: Final = (
    "No FileSystem for scheme",
    "Cannot initialize FileIO",
    "NoClassDefFoundError",
    "ClassNotFoundException",
)


def explain(error: Exception, spark: SparkSession) -> str:
    """Return what is wrong with a statement in a few words, and what to do next."""
    text = str(error)
    if any(words in text for words in _READ_ONLY):
        return READS_ONLY
    if "TABLE_OR_VIEW_NOT_FOUND" in text:
        return missing(relation(error), table_names(spark), spark.catalog.currentCatalog())
    said = hide(first_lines(text))
    if any(words in text for words in _NO_CLIENT):
        return f"{said}\nSpark lacks a jar: add iceberg-aws-bundle, iceberg-gcp-bundle or iceberg-azure-bundle, by its store"
    return said


def relation(error: Exception) -> str:
    """Return the name that Spark has not found, without its quotes."""
    parameters: dict[str, str] = getattr(error, "getMessageParameters", dict)() or {}
    return str(parameters.get("relationName", "")).replace("`", "")


def missing(name: str, tables: Sequence[str], catalog: str) -> str:
    """Say that a table is not there, and which are."""
    what = f"there is no table {cell(name)}" if name else "there is no such table"
    if not tables:
        return f"{what}: the catalog has none yet. A connector's first run makes its tables"
    near = difflib.get_close_matches(name.removeprefix(f"{catalog}."), tables, n=_NEAR, cutoff=0.5)
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
    return "\n".join(kept).rstrip("; \n") or "Spark failed without a message"


# Rows as a table for a terminal, or as JSON.


MAX_CELL: Final = 200
"""Characters of a value that are shown."""


def as_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Draw rows; values are one line each, and only shown by a terminal, whatever is in them."""
    from tabulate import tabulate

    drawn = [[cell(value) for value in row] for row in rows]
    return str(tabulate(drawn, [cell(name) for name in columns], tablefmt="psql", disable_numparse=True))


def as_json(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[dict[str, Any]]:
    """Return rows as objects: numbers, flags and NULL as JSON has them, anything else as text."""
    return [dict(zip(columns, map(_value, row), strict=True)) for row in rows]


def cell(value: object) -> str:
    """Write a value on one line of at most MAX_CELL characters."""
    text = "NULL" if value is None else _text(value)
    shown = "".join(one if one.isprintable() else repr(one)[1:-1] for one in text[: MAX_CELL + 1])
    return shown if len(shown) <= MAX_CELL else shown[: MAX_CELL - 1] + "…"


def _value(value: object) -> object:
    is_plain = value is None or isinstance(value, bool | int)
    return value if is_plain or (isinstance(value, float) and value - value == 0) else _text(value)


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes | bytearray) else str(value)
