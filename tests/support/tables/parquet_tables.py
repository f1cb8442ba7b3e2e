"""Tables in a SQL catalog, rows for them, their writers, and what became of both."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

from floe.parquet.arrow_shapes import storage_type
from floe.parquet.table_writer import TableWriter

TableFactory = Callable[..., Table]

SCHEMA = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "name", StringType(), required=False),
)


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


def writer(table: Table, **options: Any) -> TableWriter:
    return TableWriter(
        table.metadata, table.io, table.schema(), table.spec(), table.properties, name_hint="7", **options
    )


def rows(table: Table, **columns: list[Any]) -> pa.Table:
    schema = schema_to_pyarrow(table.schema())
    arrays = []
    for field, values in zip(schema, columns.values(), strict=True):
        array = pa.array(values, storage_type(field.type))
        is_extension = isinstance(field.type, pa.BaseExtensionType)
        arrays.append(pa.ExtensionArray.from_storage(field.type, array) if is_extension else array)
    return pa.Table.from_arrays(arrays, schema=schema)


def write(table: Table, *batches: pa.Table, **options: Any) -> list[DataFile]:
    writing = writer(table, **options)
    for batch in batches:
        writing.write(batch)
    return writing.close()


def commit(table: Table, files: list[DataFile]) -> pa.Table:
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for file in files:
            append.append_data_file(file)
    return table.scan().to_arrow()


def local(path: str) -> Path:
    return Path(unquote(urlparse(path).path))


def spec(*fields: tuple[int, Transform[Any, Any], str]) -> PartitionSpec:
    return PartitionSpec(*(PartitionField(source, 1000 + i, how, name) for i, (source, how, name) in enumerate(fields)))


TRANSFORMED: list[tuple[IcebergType, list[Any], list[Transform[Any, Any]]]] = [
    (BooleanType(), [True, False, None], []),
    (IntegerType(), [34, -1, 2**31 - 1, None], [BucketTransform(16), TruncateTransform(10)]),
    (LongType(), [34, -1, 2**63 - 1, None], [BucketTransform(16), TruncateTransform(10)]),
    (FloatType(), [1.5, None], []),
    (DoubleType(), [1.5, None], []),
    (StringType(), ["iceberg", "é", "", None], [BucketTransform(16), TruncateTransform(3)]),
    (BinaryType(), [b"abcd", b"", None], [BucketTransform(16), TruncateTransform(3)]),
    (FixedType(4), [b"abcd", None], [BucketTransform(16)]),
    (DecimalType(9, 2), [Decimal("14.20"), Decimal("-1.05"), None], [BucketTransform(16), TruncateTransform(50)]),
    (DateType(), [17486, -1, None], [BucketTransform(16), YearTransform(), MonthTransform(), DayTransform()]),
    (TimeType(), [81_068_000_000, None], [BucketTransform(16)]),
    *(
        (
            of,
            [1510871468000000, -1, None],
            [BucketTransform(16), YearTransform(), MonthTransform(), DayTransform(), HourTransform()],
        )
        for of in (TimestampType(), TimestamptzType())
    ),
    (UUIDType(), [uuid.UUID(int=5).bytes, None], [BucketTransform(16)]),
]
"""Types with values, in their storage, and the transforms that take them beside identity and void."""
