"""The private parts of PySpark that queries need are there, and are put back. No Spark is started."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.readwriter import DataFrameWriter

from floe.query.exceptions import QueryRefused
from floe.query.pyspark_internals import _FORMATS, _WRITERS, only_reading


def methods() -> dict[str, Any]:
    owners = [(owner, name) for owner, names in _WRITERS.items() for name in names]
    owners += [(owner, "format") for owner in _FORMATS]
    found = {}
    for owner, name in owners:
        module, _, kind = owner.rpartition(".")
        found[f"{owner}.{name}"] = getattr(importlib.import_module(module), kind).__dict__[name]
    return found | {"sql": SparkSession.__dict__["sql"]}


def test_methods_that_write_are_refused_meanwhile() -> None:
    before = methods()
    frame, writer = object.__new__(DataFrame), object.__new__(DataFrameWriter)
    with only_reading():
        assert all(method is not before[name] for name, method in methods().items())
        for change in (
            lambda: frame.writeTo("x"),
            lambda: writer.saveAsTable("x"),
            lambda: writer.insertInto("x"),
            lambda: writer.format("org.apache.iceberg.spark"),
        ):
            with pytest.raises(QueryRefused, match="queries only read"):
                change()
    assert methods() == before
