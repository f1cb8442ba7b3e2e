"""Columns of names that fill a dictionary get none; the rows are the same."""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import DoubleType, FloatType, ListType, LongType, NestedField, StringType, StructType

from floe.parquet.data_file import with_dictionary
from tests.support.tables.parquet_tables import SCHEMA, TableFactory, commit, local, rows, write

LIMIT = {"write.parquet.dict-size-bytes": "50000"}


def dictionaries(path: str) -> dict[str, bool]:
    """Say of each column whether it has one."""
    group = pq.ParquetFile(local(path)).metadata.row_group(0)
    columns = (group.column(i) for i in range(group.num_columns))
    return {column.path_in_schema: column.has_dictionary_page for column in columns}


@pytest.mark.parametrize(
    ("count", "kinds", "is_kept"),
    [
        (5_000, 5_000, False),
        (5_000, 20, True),
        (5_000, 1_100, True),  # the first thousand are all different, and all kinds have their place
        (1_100, 1_100, True),  # so do so few
        (5_000, 2_500, False),
    ],
)
def test_a_dictionary_that_would_be_given_up_is_not_made(
    new_table: TableFactory, count: int, kinds: int, is_kept: bool
) -> None:
    table = new_table(SCHEMA, properties=LIMIT)
    names = [f"order {i % kinds:014}" for i in range(count)]
    (file,) = write(table, rows(table, id=list(range(count)), name=names))
    assert dictionaries(file.file_path) == {"id": True, "name": is_kept}
    assert commit(table, [file]).column("name").to_pylist() == names


def test_a_column_that_filled_its_dictionary_is_not_examined_again(monkeypatch: pytest.MonkeyPatch) -> None:
    schema, filled = pa.schema([("name", pa.large_string()), ("kind", pa.large_string())]), set[str]()
    different, alike = [f"order {i:014}" for i in range(5_000)], ["large"] * 5_000
    first = pa.table([different, alike], schema)
    assert with_dictionary(schema, first, ["name", "kind"], 50_000, filled=filled) == ["kind"]
    examined: list[object] = []
    monkeypatch.setattr(pc, "unique", examined.append)
    assert with_dictionary(schema, first, ["name", "kind"], 50_000, filled=filled) == ["kind"]
    assert with_dictionary(schema, pa.table([alike, alike], schema), ["name", "kind"], 50_000, filled=filled) is True
    assert not examined


def test_nulls_come_again(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, properties=LIMIT)
    names = [f"order {i:014}" if i % 10 == 0 else None for i in range(5_000)]
    (file,) = write(table, rows(table, id=[1] * 5_000, name=names))
    assert dictionaries(file.file_path)["name"]


def test_columns_inside_of_others_and_of_odd_names_keep_theirs(new_table: TableFactory) -> None:
    inner = StructType(NestedField(4, "name", StringType(), required=False))
    table = new_table(
        Schema(
            NestedField(1, "a.name", StringType(), required=False),
            NestedField(2, "name", inner, required=False),
            NestedField(3, "names", ListType(5, StringType(), element_required=False), required=False),
            NestedField(6, "id", LongType(), required=False),
        ),
        properties=LIMIT,
    )
    names = [f"order {i:014}" for i in range(5_000)]
    found = rows(
        table,
        a=names,
        b=[{"name": name} for name in names],
        c=[[name] for name in names],
        d=[7] * 5_000,
    )
    (file,) = write(table, found)
    assert dictionaries(file.file_path) == {
        "a_x2Ename": False,
        "name.name": True,
        "names.list.element": True,
        "id": True,
    }
    assert commit(table, [file]).select(["a.name", "name", "names"]).to_pylist() == [
        {"a.name": name, "name": {"name": name}, "names": [name]} for name in names
    ]


def test_a_file_of_such_columns_alone_is_written(new_table: TableFactory) -> None:
    table = new_table(Schema(NestedField(1, "name", StringType(), required=False)), properties=LIMIT)
    names = [f"order {i:014}" for i in range(5_000)]
    (file,) = write(table, rows(table, name=names))
    assert dictionaries(file.file_path) == {"name": False}
    assert commit(table, [file]).num_rows == 5_000


# -- zeros ------------------------------------------------------------------------------------------------------------

NUMBERS = Schema(
    NestedField(1, "d", DoubleType(), required=False),
    NestedField(2, "l", ListType(3, FloatType(), element_required=False), required=False),
)


@pytest.mark.parametrize(
    ("zero", "inside", "kept"), [(0.0, 0.0, (True, True)), (-0.0, 0.0, (False, True)), (0.0, -0.0, (True, False))]
)
def test_column_with_a_negative_zero_has_no_dictionary(
    new_table: TableFactory, zero: float, inside: float, kept: tuple[bool, bool]
) -> None:
    table = new_table(NUMBERS)
    (file,) = write(table, rows(table, d=[zero, None, 1.5], l=[[inside, None], None, []]))
    assert tuple(dictionaries(file.file_path).values()) == kept
    assert (file.lower_bounds[1], file.upper_bounds[1]) == (struct.pack("<d", -0.0), struct.pack("<d", 1.5))


def test_negative_zero_after_others_begins_a_file(new_table: TableFactory) -> None:
    table = new_table(NUMBERS, properties={"write.parquet.row-group-limit": "2"})
    batches = [[1.5, 2.5], [0.0, 1.0], [-0.0, 1.0], [0.0, 1.0], [-0.0, None]]
    files = write(table, *(rows(table, d=batch, l=[None, None]) for batch in batches))
    assert [file.record_count for file in files] == [4, 6]
    assert [dictionaries(file.file_path)["d"] for file in files] == [True, False]
    assert commit(table, files)["d"].to_pylist().count(0.0) == 4
