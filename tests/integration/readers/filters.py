"""Filters on the columns of a table: in Spark's words, and as PyIceberg's and Polars' expressions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pyiceberg.types import DoubleType, FloatType, TimestamptzType, UUIDType

from tests.integration.readers.reader_tables import Column, ReaderTable


@dataclass(frozen=True)
class Filter:
    """One comparison. ``operator``: ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in``, ``is null``, ``is not null``."""

    column: Column
    operator: str
    values: tuple[Any, ...] = ()

    @property
    def sql(self) -> str:
        """The filter in Spark's SQL. NaN is the largest number to Spark, and none of Iceberg's ranges has it."""
        name, words = self.column.name, [_literal(self.column, value) for value in self.values]
        said = (
            f"{name} in ({', '.join(words)})" if self.operator == "in" else f"{name} {self.operator} {' '.join(words)}"
        )
        if is_float(self.column) and self.operator in (">", ">="):
            return f"({said} and not isnan({name}))"
        return said


def value_of(row: dict[str, Any], name: str) -> Any:
    """Return the value of a column, or of a field of a struct; None where the struct is."""
    value: Any = row
    for part in name.split("."):
        value = None if value is None else value[part]
    return value


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def is_float(column: Column) -> bool:
    return isinstance(column.kind.type, FloatType | DoubleType)


def filters(table: ReaderTable) -> Iterator[Filter]:
    """Yield what is asked of each column: an equality, a range and nulls, and more where columns are not partitions."""
    for column in table.columns:
        # -0.0 is no literal that anyone writes: Iceberg's Java library takes it for less than 0.0, Spark for equal
        values = [v + 0.0 if isinstance(v, float) else v for v in column.values]
        values = [v for v in values if not is_nan(v)]
        low, high = values[1 if len(values) > 3 else 0], values[-2 if len(values) > 3 else -1]
        yield Filter(column, "=", (high,))
        yield Filter(column, ">=", (low,))
        yield Filter(column, "is null")
        yield Filter(column, "is not null")
        is_plain = column.transform is None or (str(column.transform) == "identity" and "." not in column.name)
        if is_plain:
            yield Filter(column, "<", (high,))
            yield Filter(column, "in", (values[0], values[-1]))
            yield Filter(column, "!=", (values[-1],))


def is_apart(one: Filter) -> bool:
    """Say whether it is a range on the partition of a UUID, which Iceberg's Java library takes for signed in any case."""
    is_partition = one.column.transform is not None and str(one.column.transform) == "identity"
    return is_partition and isinstance(one.column.kind.type, UUIDType) and one.operator in ("<", "<=", ">", ">=")


def _literal(column: Column, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, datetime):
        kind = "TIMESTAMP" if isinstance(column.kind.type, TimestamptzType) else "TIMESTAMP_NTZ"
        return f"{kind}'{value:%Y-%m-%d %H:%M:%S.%f}'"
    if isinstance(value, str | UUID):
        return f"'{value}'"
    if isinstance(value, float | int):
        return f"CAST('{value!r}' AS {column.kind.type})"
    name = str(column.kind.type)
    return f"CAST('{value}' AS {name})"
