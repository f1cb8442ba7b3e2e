"""Errors of Spark in a few words, with the next step."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from floe.config.secrets.mask import hide
from floe.query.pyspark_internals import READS_ONLY
from floe.query.row_table import cell

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
