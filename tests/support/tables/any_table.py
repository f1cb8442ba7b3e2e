"""A table that only lends its transaction."""

from collections.abc import Iterator

import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField


@pytest.fixture(scope="module")
def any_table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    """A table whose transaction a schema update can be made in; it is never committed."""
    folder = tmp_path_factory.mktemp("catalog")
    catalog = SqlCatalog("test", uri=f"sqlite:///{folder}/catalog.db", warehouse=folder.as_uri())
    catalog.create_namespace("ns")
    yield catalog.create_table("ns.t", Schema(NestedField(1, "x", LongType(), required=False)))
    catalog.engine.dispose()
