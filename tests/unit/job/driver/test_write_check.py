"""What makes a table one that no file can be written for, found by the driver before any task is."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from pyiceberg.table import Table

from floe.catalogs.exceptions import CodeRefused, TableUnsuitable
from floe_job.contract.task import TableTarget
from floe_job.driver.slice_tables import check_writable
from tests.support.tables.foreign_changes import rewrite_metadata
from tests.support.tables.lake import BY_SAUCE, Lake

PROPERTIES = {
    "write.parquet.compression-codec": "nosuch",
    "write.parquet.dict-size-bytes": str(2**63),
    "write.format.default": "orc",
    "write.metadata.metrics.default": "evil",
    "write.target-file-size-bytes": "0",
    "write.data.path": "evil://x/y",
    "schema.name-mapping.default": "[" * 100_000,
}
FIELDS: dict[str, list[dict[str, Any]]] = {
    "unknown": [{"source-id": 2, "field-id": 1000, "name": "x", "transform": "evil[3]"}],
    "no buckets": [{"source-id": 2, "field-id": 1000, "name": "x", "transform": "bucket[0]"}],
    "too many buckets": [{"source-id": 2, "field-id": 1000, "name": "x", "transform": "bucket[99999999999]"}],
    "year of a number": [{"source-id": 2, "field-id": 1000, "name": "x", "transform": "year"}],
}


def check(table: Table, more: Mapping[str, str] = MappingProxyType({})) -> None:
    check_writable(TableTarget("rpc.pizzas", table.metadata, table.io, {**table.metadata.properties, **more}))


def refusal(lake: Lake) -> str:
    table = lake.load()
    with pytest.raises(TableUnsuitable, match=r"table 'rpc\.pizzas' cannot be written") as message:
        check(table)
    return str(message.value)


def test_a_table_that_takes_files_is_not_refused(lake: Lake) -> None:
    table = lake.create(BY_SAUCE, {"write.data.path": f"file://{lake.folder}/elsewhere", "read.split.target-size": "x"})
    check(table)
    assert not (lake.folder / "elsewhere").exists()


@pytest.mark.parametrize(("name", "value"), PROPERTIES.items(), ids=PROPERTIES)
def test_a_property_that_no_file_can_have_is_refused(lake: Lake, name: str, value: str) -> None:
    lake.create()
    rewrite_metadata(lake, lambda fields: fields["properties"].update({name: value}))
    refusal(lake)


@pytest.mark.parametrize("fields", FIELDS.values(), ids=FIELDS)
def test_a_partition_that_no_row_has_is_refused(lake: Lake, fields: list[dict[str, Any]]) -> None:
    lake.create()
    rewrite_metadata(lake, lambda metadata: metadata["partition-specs"][0].update(fields=fields))
    assert "partition field 'x'" in refusal(lake)


@pytest.mark.parametrize("location", ["evil:///x", "http://127.0.0.1:1/x", "file:///tmp/a\0b", ""])
def test_a_location_that_no_file_can_be_at_is_refused(lake: Lake, location: str) -> None:
    table = lake.create()
    table.metadata = table.metadata.model_copy(update={"location": location})
    with pytest.raises(TableUnsuitable):
        check(table)


def test_a_class_that_a_property_names_is_refused_as_such(lake: Lake) -> None:
    table = lake.create()
    with pytest.raises(CodeRefused):
        check(table, {"write.py-location-provider.impl": "os.system"})
