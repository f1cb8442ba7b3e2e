"""The S3 store of `make up STORE=s3` has its bucket when it is up, and keeps tables until it ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

from stack.exceptions import PortTaken
from stack.services.object_store import BUCKET, ObjectStore
from stack.settings import free_port


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    one = ObjectStore(tmp_path / "store", free_port())
    one.start()
    yield one
    one.stop()


def test_store_has_tables_until_it_ends(store: ObjectStore, tmp_path: Path) -> None:
    rows = pa.table({"n": [1, 2, 3]})
    catalog = load_catalog("demo", type="sql", uri=f"sqlite:///{tmp_path / 'catalog.db'}", **store.properties)
    try:
        catalog.create_namespace("rpc")
        catalog.create_table("rpc.pizzas", rows.schema).append(rows)
        table = catalog.load_table("rpc.pizzas")
        assert table.scan().to_arrow() == rows
        assert table.location().startswith(f"s3://{BUCKET}/tables/")
        store.start()  # it runs: harmless
        assert catalog.load_table("rpc.pizzas").scan().count() == 3
        store.stop()
        store.start()
        with pytest.raises(FileNotFoundError):
            catalog.load_table("rpc.pizzas")
    finally:
        catalog.close()


def test_store_whose_port_is_taken_names_the_variable(store: ObjectStore, tmp_path: Path) -> None:
    with pytest.raises(PortTaken, match=f"port {store.port} is in use .* set S3_PORT"):
        ObjectStore(tmp_path / "other", store.port).start()
