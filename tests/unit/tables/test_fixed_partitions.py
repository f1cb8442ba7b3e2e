"""Tables partitioned by the values of a fixed column: no two libraries read them alike, so nothing is written to them."""

from __future__ import annotations

from typing import Any

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, IdentityTransform, Transform, VoidTransform
from pyiceberg.types import BinaryType, FixedType, IcebergType, NestedField, StructType, UUIDType

from floe.config import Connector
from floe.tables.exceptions import TableRefused
from floe.tables.table_ledger import ledger_of
from floe.tables.table_state import TableStates
from tests.support.tables.lake import SCHEMA, TABLE, TOPIC, Lake, make_plan


def create(lake: Lake, column: IcebergType, transform: Transform[Any, Any]) -> None:
    inner = StructType(NestedField(11, "digest", column, required=False))
    schema = Schema(*SCHEMA.fields, NestedField(10, "file", inner, required=False))
    table = lake.create(schema=schema)
    source_id = table.schema().find_field("file.digest").field_id
    with table.update_spec() as update:
        update.add_field("file.digest", transform, "digest")
    assert table.spec() == PartitionSpec(PartitionField(source_id, 1000, transform, "digest"), spec_id=1)


def test_a_table_partitioned_by_a_fixed_column_is_refused(lake: Lake) -> None:
    create(lake, FixedType(4), IdentityTransform())
    with pytest.raises(TableRefused, match=r"'file.digest', which is of type fixed\[4\].*Nothing was written.*bucket"):
        ledger_of(lake.load(), "main", make_plan((0, 0, 5)))


def test_state_of_such_a_table_is_its_problem(lake: Lake) -> None:
    create(lake, FixedType(4), IdentityTransform())
    plan = make_plan((0, 0, 5))
    connector: Connector = lake.connector()
    found = TableStates(lake.tables(), connector, plan.cluster_id).open([TABLE], [TOPIC], must_exist=False)
    assert isinstance(found[TABLE].problem, TableRefused) and found[TABLE].table is None


@pytest.mark.parametrize(
    ("column", "transform"),
    [
        (FixedType(4), BucketTransform(4)),
        (FixedType(4), VoidTransform()),
        (BinaryType(), IdentityTransform()),
        (UUIDType(), IdentityTransform()),
    ],
)
def test_partitions_that_all_read_alike_are_taken(
    lake: Lake, column: IcebergType, transform: Transform[Any, Any]
) -> None:
    create(lake, column, transform)
    assert not ledger_of(lake.load(), "main", make_plan((0, 0, 5))).holdings
