"""Tables of the job's unit tests: a SQL catalog in a temporary folder."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

TableFactory = Callable[..., Table]


@pytest.fixture
def new_table(tmp_path: Path) -> Iterator[TableFactory]:
    """Return a factory of tables with names of their own."""
    catalog = SqlCatalog("test", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=tmp_path.as_uri())
    catalog.create_namespace("ns")
    numbers = itertools.count()

    def create(
        schema: Schema, spec: PartitionSpec = UNPARTITIONED_PARTITION_SPEC, properties: dict[str, str] | None = None
    ) -> Table:
        return catalog.create_table(f"ns.t{next(numbers)}", schema, partition_spec=spec, properties=properties or {})

    yield create
    catalog.engine.dispose()
