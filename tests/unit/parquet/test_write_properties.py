"""Properties of a table, or of the connector over them, that say how its files are written."""

from __future__ import annotations

import re
import sys
import uuid
from pathlib import Path
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.partitioning import PartitionKey
from pyiceberg.schema import Schema
from pyiceberg.table.locations import LocationProvider
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StructType

from floe.catalogs.exceptions import CodeRefused
from floe.parquet.budget import WriteBudget
from floe.parquet.exceptions import UnsupportedFileFormat
from tests.support.tables.parquet_tables import SCHEMA, TableFactory, commit, local, rows, spec, write, writer


def written(new_table: TableFactory, **properties: str) -> tuple[DataFile, pq.FileMetaData]:
    """Write 3000 different rows with properties, whose names stand after ``write.``."""
    table = new_table(SCHEMA, properties={f"write.{name}": value for name, value in properties.items()})
    names = [uuid.UUID(int=n * 7919 << 64).hex for n in range(3000)]
    (file,) = write(table, rows(table, id=list(range(3000)), name=names))
    return file, pq.read_metadata(local(file.file_path))


def size(metadata: pq.FileMetaData, column: int) -> int:
    """Return the bytes of a column, which has a header for each of its pages."""
    return int(metadata.row_group(0).column(column).total_uncompressed_size)


# -- sizes ------------------------------------------------------------------------------------------------------------


def test_row_groups_and_memory_are_bounded(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, properties={"write.parquet.row-group-limit": "700"})
    batch = rows(table, id=list(range(1000)), name=["x"] * 1000)
    (file,) = write(table, batch, batch)
    metadata = pq.read_metadata(local(file.file_path))
    assert max(metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)) <= 700
    assert len(file.split_offsets or []) == metadata.num_row_groups


def test_a_file_is_rolled_at_the_target_size(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, properties={"write.target-file-size-bytes": "10000"})
    batch = rows(table, id=list(range(1000)), name=[uuid.UUID(int=n * 7919).hex for n in range(1000)])
    files = write(table, *[batch] * 10, budget=WriteBudget(buffer_bytes=10_000))
    assert len(files) > 3
    assert [file.file_path[-13:] for file in files[:2]] == ["00001.parquet", "00002.parquet"]
    assert commit(table, files).num_rows == 10_000


def test_a_row_group_is_written_when_it_has_its_bytes(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, properties={"write.parquet.row-group-size-bytes": "30000"})
    batch = rows(table, id=list(range(1000)), name=["x"] * 1000)
    (file,) = write(table, *[batch] * 10)
    metadata = pq.read_metadata(local(file.file_path))
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [2000] * 5


def test_pages_have_no_more_rows_than_they_may(new_table: TableFactory) -> None:
    usual, small = (written(new_table, **{"parquet.page-row-limit": limit})[1] for limit in ("20000", "50"))
    assert size(small, 1) > size(usual, 1) + 1000


def test_pages_of_wide_rows_end_at_their_bytes(new_table: TableFactory) -> None:
    sizes = []
    for limit in ("1000000000", "10000"):
        pages = {"write.parquet.page-size-bytes": limit, "write.parquet.compression-codec": "uncompressed"}
        table = new_table(SCHEMA, properties=pages)
        (file,) = write(table, rows(table, id=list(range(5000)), name=[str(n) * 200 for n in range(5000)]))
        sizes.append(size(pq.read_metadata(local(file.file_path)), 1))
    assert sizes[1] > sizes[0]


def test_a_dictionary_has_its_bytes(new_table: TableFactory) -> None:
    dictionaries = []
    for limit in ("2000000", "1000"):
        columns = written(new_table, **{"parquet.dict-size-bytes": limit})[1].row_group(0)
        number, name = columns.column(0), columns.column(1)
        dictionaries.append(number.data_page_offset - number.dictionary_page_offset)
        assert name.has_dictionary_page is (limit == "2000000")  # of texts that would fill it there is none
    assert dictionaries[1] < dictionaries[0] * 0.6


@pytest.mark.parametrize(
    "name",
    ["target-file-size-bytes", "parquet.row-group-size-bytes", "parquet.row-group-limit", "parquet.page-row-limit"],
)
def test_a_size_below_one_is_refused_by_name(new_table: TableFactory, name: str) -> None:
    with pytest.raises(ValueError, match=rf"write\.{name}=0: a number of at least 1"):
        written(new_table, **{name: "0"})


# -- compression ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", ["zstd", "gzip", "snappy", "lz4", "brotli", "uncompressed", "ZSTD"])
@pytest.mark.parametrize("level", [None, "3"])
def test_every_codec_is_taken_and_level_only_where_defined(
    new_table: TableFactory, codec: str, level: str | None
) -> None:
    properties = {"parquet.compression-codec": codec, **({"parquet.compression-level": level} if level else {})}
    _, metadata = written(new_table, **properties)
    assert metadata.row_group(0).column(0).compression == codec.upper()


def test_a_higher_level_makes_smaller_files(new_table: TableFactory) -> None:
    sizes = [written(new_table, **{"parquet.compression-level": level})[0].file_size_in_bytes for level in ("1", "19")]
    assert sizes[1] < sizes[0]


def test_files_are_compressed_with_zstd_unless_it_is_said(new_table: TableFactory) -> None:
    assert written(new_table)[1].row_group(0).column(0).compression == "ZSTD"


def test_unknown_codec_is_refused_with_the_known_ones(new_table: TableFactory) -> None:
    with pytest.raises(UnsupportedFileFormat, match=r"compression-codec='lzo'.*zstd, gzip"):
        written(new_table, **{"parquet.compression-codec": "lzo"})


# -- metrics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "counted", "bound"),
    [("none", False, None), ("counts", True, None), ("truncate(4)", True, b"xxxx"), ("full", True, b"x" * 40)],
)
@pytest.mark.parametrize("key", ["write.metadata.metrics.default", "write.metadata.metrics.column.name"])
def test_metrics_have_their_mode(
    new_table: TableFactory, key: str, mode: str, counted: bool, bound: bytes | None
) -> None:
    table = new_table(SCHEMA, properties={key: mode})
    (file,) = write(table, rows(table, id=[1], name=["x" * 40]))
    assert (2 in file.value_counts, (file.lower_bounds or {}).get(2)) == (counted, bound)
    assert (2 in file.null_value_counts) is counted


def test_a_columns_mode_goes_before_the_tables(new_table: TableFactory) -> None:
    properties = {"write.metadata.metrics.default": "full", "write.metadata.metrics.column.name": "none"}
    table = new_table(SCHEMA, properties=properties)
    (file,) = write(table, rows(table, id=[5], name=["x"]))
    assert (file.value_counts, list(file.lower_bounds)) == ({1: 1}, [1])
    assert file.upper_bounds[1] == to_bytes(LongType(), 5)


def test_columns_are_named_as_in_the_table_not_as_in_files(new_table: TableFactory) -> None:
    inner = StructType(NestedField(3, "x y", LongType(), required=False))
    unexpected = Schema(NestedField(1, "a.b", LongType(), required=False), NestedField(2, "s", inner, required=False))
    modes = {f"write.metadata.metrics.column.{name}": "none" for name in ("a.b", "s.x y", "gone")}
    table = new_table(unexpected, properties=modes)
    (file,) = write(table, rows(table, a=[1], s=[{"x y": 2}]))
    assert file.value_counts == {}


# -- locations --------------------------------------------------------------------------------------------------------


def test_properties_set_metrics_compression_and_location(new_table: TableFactory, tmp_path: Path) -> None:
    table = new_table(
        SCHEMA,
        properties={
            "write.metadata.metrics.default": "none",
            "write.metadata.metrics.column.id": "counts",
            "write.parquet.compression-codec": "gzip",
            "write.data.path": (tmp_path / "elsewhere").as_uri(),
            "write.parquet.row-group-size-bytes": "1000000",
            "write.parquet.bloom-filter-enabled.column.id": "true",
        },
    )
    (file,) = write(table, rows(table, id=[1], name=["x"]))
    assert file.file_path.startswith((tmp_path / "elsewhere").as_uri())
    assert file.value_counts == {1: 1}
    assert not file.lower_bounds
    assert pq.read_metadata(local(file.file_path)).row_group(0).column(0).compression == "GZIP"


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ({}, r"/data/name=x/00000-[^/]*"),
        ({"write.object-storage.enabled": "true"}, r"/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}/name=x/00000-[^/]*"),
        (
            {"write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": "false"},
            r"/data/[01]{4}/[01]{4}/[01]{4}/[01]{8}-00000-[^/]*",
        ),
        ({"write.py-location-provider.impl": f"{__name__}.Flat"}, r"/flat/name=x-00000-[^/]*"),
    ],
)
def test_files_lie_where_the_location_provider_says(
    new_table: TableFactory, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], path: str
) -> None:
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(Flat=Flat))
    monkeypatch.setenv("PYICEBERG_CATALOG__ANY__WRITE__PY_LOCATION_PROVIDER__IMPL", f"{__name__}.Flat")
    table = new_table(SCHEMA, spec((2, IdentityTransform(), "name")), properties)
    files = write(table, rows(table, id=[1], name=["x"]))
    assert re.fullmatch(rf"{re.escape(table.location())}{path}\.parquet", files[0].file_path)
    assert commit(table, files).num_rows == 1


@pytest.mark.parametrize("impl", [{}, {"write.py-location-provider.impl": f"{__name__}.Flat"}])
@pytest.mark.parametrize("hashed", ["false", "true"])
def test_no_location_provider_gets_a_long_path(
    new_table: TableFactory, monkeypatch: pytest.MonkeyPatch, impl: dict[str, str], hashed: str
) -> None:
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(Flat=Flat))
    monkeypatch.setenv("PYICEBERG_CATALOG__ANY__WRITE__PY_LOCATION_PROVIDER__IMPL", f"{__name__}.Flat")
    properties = {"write.object-storage.enabled": hashed, **impl}
    table = new_table(SCHEMA, spec((2, IdentityTransform(), "name")), properties)
    files = write(table, rows(table, id=[1], name=["x" * 300]))
    assert commit(table, files)["name"].to_pylist() == ["x" * 300]


def test_missing_location_provider_is_refused_by_name(new_table: TableFactory) -> None:
    with pytest.raises(CodeRefused, match=r"no\.such\.Provider"):
        writer(new_table(SCHEMA, properties={"write.py-location-provider.impl": "no.such.Provider"}))


class Flat(LocationProvider):
    """Puts all partitions into one folder."""

    def new_data_location(self, data_file_name: str, partition_key: PartitionKey | None = None) -> str:
        partition = f"{partition_key.to_path()}-" if partition_key else ""
        return f"{self.table_location}/flat/{partition}{data_file_name}"
