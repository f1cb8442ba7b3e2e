"""Statements in SQL and lines of PySpark on a session: given, of stdin, or of a prompt."""

from __future__ import annotations

import code
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from floe.query.exceptions import QueryError, QueryFailed
from floe.query.explanation import explain
from floe.query.row_table import as_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_ROWS: Final = 1000
_BANNER: Final = """`spark` is a session on catalog {catalog!r}, for example:
  spark.table("{catalog}.{table}").show(5)
  sql("select count(*) from {table}")
Ctrl-D ends it."""


class Rows(NamedTuple):
    """The first rows of a statement; ``is_all``: there are no more."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_all: bool


def run(spark: SparkSession, sql: str, catalog: str, table: str, show: Callable[[Rows], None] | None = None) -> None:
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


def rows_of(spark: SparkSession, sql: str) -> Rows:
    """Run a statement and return its rows, at most MAX_ROWS. Raises QueryRefused, QueryFailed."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        found = spark.sql(sql.strip().removesuffix(";"))
        rows = found.take(MAX_ROWS + 1)
    except (PySparkException, Py4JError) as error:
        raise QueryFailed(explain(error, spark)) from error
    return Rows(found.columns, rows[:MAX_ROWS], len(rows) <= MAX_ROWS)


def print_rows(spark: SparkSession, sql: str) -> None:
    """Run a statement and print its rows as a table. Raises QueryRefused, QueryFailed."""
    print_table(rows_of(spark, sql))


def print_table(found: Rows) -> None:
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
