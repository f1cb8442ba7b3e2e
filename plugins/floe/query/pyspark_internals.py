"""Private parts of PySpark that a session of queries needs, and its methods that write, which are refused meanwhile."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from floe.private_names import PrivateName
from floe.query.exceptions import QueryRefused

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SESSION: Final = "pyspark.sql.session:SparkSession"
_END: Final = "PySpark parses a statement without running it, and sets system properties of its JVM"
PRIVATE_NAMES: Final = (
    PrivateName(f"{_SESSION}._jvm", "Spark's own parser, and properties that AWS's clients read", _END),
    PrivateName(f"{_SESSION}._jsparkSession", "the parser of a session with its extensions", _END),
)

READS_ONLY: Final = "no table was changed: queries only read. Tables change by connectors, or by an engine of your own"
_LOOKS: Final = ("Show", "Describe", "Explain", "RefreshTable", "SetCommand", "SetCatalog", "SetNamespace")
"""How Spark's names of statements begin that only look, or set something for the session."""
_WRITERS: Final[Mapping[str, tuple[str, ...]]] = {
    "pyspark.sql.readwriter.DataFrameWriter": ("saveAsTable", "insertInto"),
    "pyspark.sql.classic.dataframe.DataFrame": ("writeTo", "mergeInto"),
    "pyspark.sql.streaming.readwriter.DataStreamWriter": ("toTable",),
    "pyspark.sql.catalog.Catalog": ("createTable", "createExternalTable"),
}
_FORMATS: Final = ("pyspark.sql.readwriter.DataFrameWriter", "pyspark.sql.streaming.readwriter.DataStreamWriter")


def set_system_properties(spark: SparkSession, properties: Mapping[str, str]) -> None:
    """Set system properties of the session's JVM, where no other process sees them."""
    for name, value in properties.items():
        spark._jvm.java.lang.System.setProperty(name, value)


def require_reading(spark: SparkSession, sql: str) -> None:
    """Raise QueryRefused unless a statement is a query, or one that only looks; ParseException for one that is wrong."""
    from pyspark.errors import ParseException

    try:
        # Spark's own: that of Iceberg's extensions takes any statement for a query
        spark._jvm.org.apache.spark.sql.execution.SparkSqlParser().parseQuery(sql)
    except ParseException:
        kind = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql).getClass().getSimpleName()
        if not kind.startswith(_LOOKS):
            raise QueryRefused(READS_ONLY) from None


@contextmanager
def only_reading() -> Iterator[None]:
    """Have sessions refuse statements and methods that change tables: a guard against mistakes, and not against intent.

    Files may be written by ``df.write``, but no table of Iceberg's.
    """
    with ExitStack() as stack:
        for owner, names in _WRITERS.items():
            for name in names:
                stack.enter_context(_replaced(owner, name, lambda _: _refuse))
        for owner in _FORMATS:
            stack.enter_context(_replaced(owner, "format", _of_no_table))
        stack.enter_context(_replaced("pyspark.sql.session.SparkSession", "sql", _of_a_query))
        yield


def _refuse(*_: object, **__: object) -> Any:
    raise QueryRefused(READS_ONLY)


@contextmanager
def _replaced(owner: str, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Replace a method of a class meanwhile."""
    module, _, kind = owner.rpartition(".")
    there = getattr(importlib.import_module(module), kind)
    original = there.__dict__[name]
    setattr(there, name, made(original))
    try:
        yield
    finally:
        setattr(there, name, original)


def _of_no_table(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def checked(self: Any, source: str) -> Any:
        if "iceberg" in source.lower():
            raise QueryRefused(READS_ONLY)
        return original(self, source)

    return checked


def _of_a_query(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def checked(self: Any, sqlQuery: str, args: Any = None, **kwargs: Any) -> Any:
        if not kwargs:
            require_reading(self, sqlQuery)
            return original(self, sqlQuery, args)
        from pyspark.sql.sql_formatter import SQLStringFormatter

        formatter = SQLStringFormatter(self)  # Spark's own, which puts names in the place of values
        try:
            require_reading(self, formatter.format(sqlQuery, **kwargs))
        finally:
            formatter.clear()
        return original(self, sqlQuery, args, **kwargs)

    return checked
