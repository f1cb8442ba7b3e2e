"""Taking rows out of files: which go, which stay, what other engines' deletes do, and how much that takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles
from pyiceberg.typedef import Record
from pyiceberg.types import LongType, NestedField, StringType, StructType

from floe.config import parse_connector
from floe.config.sections.transforms import TransformSpec
from floe.config.transforms.iceberg import KafkaMetadata
from floe.config.transforms.python_class import PythonClass
from floe.model.holding import Holding, LogId
from floe.model.ledger import Anchor, Ledger
from floe.model.ledger_codec import property_name, write_properties
from floe.model.offsets import Intervals, OffsetRange
from floe.parquet import file_rewriter
from floe.tables import row_removal as module
from floe.tables.exceptions import TableRefused
from floe.tables.row_removal import OriginColumns, RowRemover, check_has_transform, check_no_shared_offsets
from tests.support.connectors import MINIMAL
from tests.support.tables.lake import GROUP, TOPIC, TOPIC_ID, Lake

ORIGIN = Schema(
    NestedField(1, "id", LongType(), required=False),
    NestedField(2, "k_topic", StringType(), required=False),
    NestedField(3, "k_partition", LongType(), required=False),
    NestedField(4, "k_offset", LongType(), required=False),
)
COLUMNS = OriginColumns(("k_topic",), ("k_partition",), ("k_offset",))


@pytest.mark.parametrize("field", ["_kafka_metadata_topic", "_kafka_metadata_offset"])
def test_columns_that_route_do_not_name_sources(field: str) -> None:
    """They are fields of the record then: one of another case could take their place."""
    keys = {"transforms": "meta", "transforms.meta.type": "KafkaMetadataTransform"}
    routed = {"iceberg.tables.route-field": field, "iceberg.table.rpc.pizzas.route-regex": ".*"}
    check_has_transform("rpc.pizzas", parse_connector({**MINIMAL, **keys}))
    with pytest.raises(TableRefused, match="the columns of transform 'meta' route records"):
        check_has_transform("rpc.pizzas", parse_connector({**MINIMAL, **keys, **routed}))


def test_transform_that_may_rename_topics_is_named_as_the_obstacle() -> None:
    keys = {
        "transforms": "route,meta",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "a",
        "transforms.route.replacement": "b",
        "transforms.meta.type": "KafkaMetadataTransform",
    }
    with pytest.raises(TableRefused, match="transform 'route' may give records another topic") as found:
        check_has_transform("rpc.pizzas", parse_connector({**MINIMAL, **keys}))
    assert 'Add "transforms": "meta"' not in str(found.value)


BEHIND = {"transforms": "meta,x", "transforms.meta.type": "KafkaMetadataTransform"}
ROUTER = {"regex": "a", "replacement": "b", "type": "org.apache.kafka.connect.transforms.RegexRouter"}


@pytest.mark.parametrize(
    ("x", "reason", "wanted"),
    [
        (
            ROUTER,
            "transform 'x' may give records another topic, and follows KafkaMetadataTransform",
            "without that transform",
        ),
        (
            {"type": "org.apache.kafka.connect.transforms.HoistField$Value", "field": "in"},
            "transform 'x' follows KafkaMetadataTransform, and may change its columns",
            "whose last transform is KafkaMetadataTransform",
        ),
        (
            {"type": "KafkaMetadataTransform", "predicate": "p", "field_name": "m"},
            "transform 'x' has a predicate, so other rows have no such columns",
            "without the predicate",
        ),
    ],
)
def test_obstacle_and_what_is_wanted_are_told_as_they_are(x: dict[str, str], reason: str, wanted: str) -> None:
    keys = {**BEHIND, **{f"transforms.x.{name}": value for name, value in x.items()}}
    if "predicate" in x:
        keys |= {"transforms": "x", "predicates": "p", "predicates.p.type": "RecordIsTombstone"}
        del keys["transforms.meta.type"]
    with pytest.raises(TableRefused) as found:
        check_has_transform("rpc.pizzas", parse_connector({**MINIMAL, **keys}))
    assert f"so none can be replaced: {reason}. No row was changed. " in str(found.value)
    assert str(found.value).endswith(f"into a new table, by a connector {wanted}")


def test_class_in_python_is_named_as_the_obstacle() -> None:
    metadata = TransformSpec("meta", "KafkaMetadataTransform", KafkaMetadata())
    own = TransformSpec("own", "python:steps.Own", PythonClass("steps.Own", "steps", 1, "0" * 64, "own"))
    connector = replace(parse_connector(MINIMAL), transforms=(own, metadata))
    with pytest.raises(
        TableRefused, match="transform 'own' is a class in Python, which may give records another topic"
    ):
        check_has_transform("rpc.pizzas", connector)


def slice_(start: int, end: int, partition: int = 0) -> OffsetRange:
    return OffsetRange(TOPIC, TOPIC_ID, partition, start, end)


def add(lake: Lake, offsets: Iterable[int], topic: str = TOPIC) -> Table:
    """Append one file."""
    table = lake.load()
    rows = [{"id": o, "k_topic": topic, "k_partition": 0, "k_offset": o} for o in offsets]
    table.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())))
    return lake.load()


@pytest.fixture
def table(lake: Lake) -> Table:
    """A table of two files, of the offsets 0 to 9 and 10 to 19."""
    lake.create(schema=ORIGIN)
    add(lake, range(10))
    return add(lake, range(10, 20))


def remover(*ranges: OffsetRange) -> RowRemover:
    return RowRemover(COLUMNS, ranges)


def left_of(found: module.Removal) -> list[int]:
    return [
        o
        for one in found.rewritten
        for o in pq.read_table(one.file.file_path.removeprefix("file://"))["id"].to_pylist()
    ]


def test_files_are_dropped_rewritten_or_left_alone(table: Table) -> None:
    whole = remover(slice_(10, 20)).remove(table, MAIN_BRANCH)
    assert (whole.rows, len(whole.removed), whole.rewritten) == (10, 1, ())
    part = remover(slice_(5, 12)).remove(table, MAIN_BRANCH)
    assert (part.rows, len(part.removed), sorted(left_of(part))) == (7, 2, [*range(5), *range(12, 20)])
    none = remover(slice_(20, 30), slice_(0, 99, partition=1)).remove(table, MAIN_BRANCH)
    assert none == module.Removal()


@pytest.mark.parametrize("name", ["meta.kafka", "a\\b", 'a"b', "'", "x y", "k-1", "\u00e9", "or", "a.b.c"])
@pytest.mark.parametrize("is_nested", [False, True], ids=["flat", "nested"])
def test_rows_are_found_by_columns_of_any_name(lake: Lake, name: str, is_nested: bool) -> None:
    parts = [NestedField(2, "topic", StringType()), NestedField(3, "partition", LongType()),
             NestedField(4, "offset", LongType())]  # fmt: skip
    if is_nested:
        fields, columns = [NestedField(5, name, StructType(*parts))], [(name, part.name) for part in parts]
    else:
        fields, columns = [NestedField(f.field_id, f"{name}_{f.name}", f.field_type) for f in parts], []
        columns = [(field.name,) for field in fields]
    lake.create(schema=Schema(NestedField(1, "id", LongType()), *fields))
    table = lake.load()
    origins = [dict(zip(("topic", "partition", "offset"), (TOPIC, 0, offset), strict=True)) for offset in range(10)]
    rows = [
        {"id": i, **({name: one} if is_nested else {f"{name}_{part}": value for part, value in one.items()})}
        for i, one in enumerate(origins)
    ]
    table.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())))
    found = RowRemover(OriginColumns(*columns), [slice_(3, 6)]).remove(lake.load(), MAIN_BRANCH)
    assert (found.rows, left_of(found)) == (3, [0, 1, 2, 6, 7, 8, 9])


def test_count_is_exact_for_whole_files_else_upper_bound(table: Table) -> None:
    assert remover(slice_(0, 20)).most(table, MAIN_BRANCH) == (20, True)
    assert remover(slice_(0, 5), slice_(5, 10)).most(table, MAIN_BRANCH) == (10, False)
    assert remover(slice_(3, 10)).most(table, MAIN_BRANCH) == (10, False)
    assert remover(slice_(30, 40)).most(table, MAIN_BRANCH) == (0, True)


def test_ranges_of_one_partition_leave_what_lies_between_them(table: Table) -> None:
    found = remover(slice_(2, 4), slice_(6, 8)).remove(table, MAIN_BRANCH)
    assert (found.rows, left_of(found)) == (4, [0, 1, 4, 5, 8, 9])


def test_rewritten_files_are_not_rewritten_after_a_conflict(lake: Lake, table: Table) -> None:
    one = remover(slice_(5, 8))
    first = one.remove(table, MAIN_BRANCH)
    again = one.remove(add(lake, range(50, 60), topic="another"), MAIN_BRANCH)
    assert again.rewritten == first.rewritten


def test_rows_are_written_in_groups_of_bounded_size(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_rewriter, "BATCH_BYTES", 1)
    found = remover(slice_(5, 8)).remove(table, MAIN_BRANCH)
    assert left_of(found) == [0, 1, 2, 3, 4, 8, 9]
    (one,) = found.rewritten
    assert one.file.record_count == 7
    assert one.file.lower_bounds != one.file.upper_bounds


class _DeleteManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class _AppendDeletes(_FastAppendFiles):
    """An append of one delete file, as other engines make it."""

    delete: DataFile

    def _manifests(self) -> list[ManifestFile]:
        with _DeleteManifest(
            self.spec(0), self.schema(), self.new_manifest_output(), self._snapshot_id, self._compression
        ) as writer:
            writer.add(
                ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED,
                    snapshot_id=self._snapshot_id,
                    sequence_number=None,
                    file_sequence_number=None,
                    data_file=self.delete,
                )
            )
        return [writer.to_manifest_file(), *self._existing_manifests()]


def delete_rows(lake: Lake, content: DataFileContent, rows: pa.Table) -> Table:
    table = lake.load()
    location = f"{table.location()}/data/deletes-{content.value}.parquet"
    pq.write_table(rows, location.removeprefix("file://"))
    producer = _AppendDeletes(Operation.APPEND, table.transaction(), table.io)
    producer.delete = DataFile.from_args(
        content=content, file_path=location, file_format=FileFormat.PARQUET, partition=Record(), record_count=len(rows),
        file_size_in_bytes=1000, column_sizes={}, value_counts={}, null_value_counts={}, nan_value_counts={},
        lower_bounds={}, upper_bounds={}, split_offsets=None, sort_order_id=None, spec_id=0, key_metadata=None,
        equality_ids=[1] if content is DataFileContent.EQUALITY_DELETES else None,
    )  # fmt: skip
    updates, requirements = producer._commit()
    table.catalog.commit_table(table, requirements, updates)
    return lake.load()


def positions(path: str, *rows: int) -> pa.Table:
    fields = [pa.field("file_path", pa.string(), metadata={"PARQUET:field_id": "2147483546"}),
              pa.field("pos", pa.int64(), metadata={"PARQUET:field_id": "2147483545"})]  # fmt: skip
    return pa.Table.from_arrays([pa.array([path] * len(rows)), pa.array(rows, pa.int64())], schema=pa.schema(fields))


def test_rows_that_position_deletes_took_out_stay_out(lake: Lake, table: Table) -> None:
    (path,) = [
        t.file.file_path for t in table.scan().plan_files() if t.file.lower_bounds[4] == (0).to_bytes(8, "little")
    ]
    with_deletes = delete_rows(lake, DataFileContent.POSITION_DELETES, positions(path, 1, 5))
    assert sorted(with_deletes.scan().to_arrow()["id"].to_pylist()) == [0, 2, 3, 4, 6, 7, 8, 9, *range(10, 20)]
    assert remover(slice_(0, 20)).most(with_deletes, MAIN_BRANCH) == (20, False)
    found = remover(slice_(4, 7)).remove(with_deletes, MAIN_BRANCH)
    assert (found.rows, left_of(found)) == (2, [0, 2, 3, 7, 8, 9])


def test_deletes_that_were_rolled_back_meanwhile_bring_rows_back(lake: Lake, table: Table) -> None:
    head = table.current_snapshot()
    assert head is not None
    (path,) = [
        t.file.file_path for t in table.scan().plan_files() if t.file.lower_bounds[4] == (0).to_bytes(8, "little")
    ]
    one = remover(slice_(4, 7))
    assert left_of(one.remove(delete_rows(lake, DataFileContent.POSITION_DELETES, positions(path, 1)), MAIN_BRANCH)) == [
        0, 2, 3, 7, 8, 9
    ]  # fmt: skip
    lake.load().manage_snapshots().rollback_to_snapshot(head.snapshot_id).commit()
    assert left_of(one.remove(lake.load(), MAIN_BRANCH)) == [0, 1, 2, 3, 7, 8, 9]


def test_equality_deletes_are_refused_with_the_way_out(lake: Lake, table: Table) -> None:
    assert table.scan().count() == 20
    field = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    rows = pa.Table.from_arrays([pa.array([3])], schema=pa.schema([field]))
    with_deletes = delete_rows(lake, DataFileContent.EQUALITY_DELETES, rows)
    with pytest.raises(TableRefused, match=r"has equality deletes.*Compact the table"):
        remover(slice_(4, 7)).remove(with_deletes, MAIN_BRANCH)


@pytest.mark.parametrize("codec", ["ZSTD", "snappy", "gzip", "uncompressed"])
def test_files_follow_connector_properties_over_table_ones(lake: Lake, codec: str) -> None:
    properties = {
        "write.parquet.compression-codec": "gzip",
        "write.parquet.compression-level": "3",
        "write.parquet.row-group-size-bytes": "1000000",
    }
    lake.create(schema=ORIGIN)
    add(lake, range(10))
    with lake.load().transaction() as change:
        change.set_properties(properties)
    one = RowRemover(COLUMNS, [slice_(5, 8)], {"write.parquet.compression-codec": codec})
    (left,) = one.remove(lake.load(), MAIN_BRANCH).rewritten
    found = pq.ParquetFile(left.file.file_path.removeprefix("file://")).metadata.row_group(0).column(0).compression
    assert found == codec.upper()


# -- rows of others ---------------------------------------------------------------------------------------------------


def ledger(topic_id: str = TOPIC_ID, anchor: Anchor | None = None) -> Ledger:
    """Return a ledger that holds enough to be kept in pieces, and the offsets 0 to 10."""
    spans = Intervals.of([(0, 10), *((100 + 7 * i, 103 + 7 * i) for i in range(2_000))])
    return Ledger("C1", {LogId(TOPIC, topic_id, 0): Holding({"route": spans})}, anchor=anchor)


def keep(lake: Lake, group_id: str, one: Ledger, branch: str = MAIN_BRANCH) -> Table:
    with lake.load().transaction() as change:
        change.set_properties(write_properties(property_name(group_id, branch), one))
    return lake.load()


def test_a_long_ledger_of_its_own_is_in_nobodys_way(lake: Lake, table: Table) -> None:
    kept = keep(lake, GROUP, ledger())
    assert f"{property_name(GROUP, MAIN_BRANCH)}/1" in kept.properties
    check_no_shared_offsets(kept, MAIN_BRANCH, GROUP, [slice_(0, 5)])


@pytest.mark.parametrize(
    ("group_id", "topic_id", "whose"),
    [("connect-other", TOPIC_ID, r"another connector \(connect-other\)"), (GROUP, "T0", "an earlier topic .* T0")],
)
def test_offsets_that_a_long_ledger_of_others_holds_are_refused(
    lake: Lake, table: Table, group_id: str, topic_id: str, whose: str
) -> None:
    kept = keep(lake, group_id, ledger(topic_id))
    with pytest.raises(TableRefused, match=rf"contains offsets \[0, 10\) of partition 0 of {whose}"):
        check_no_shared_offsets(kept, MAIN_BRANCH, GROUP, [slice_(3, 5)])
    check_no_shared_offsets(kept, MAIN_BRANCH, GROUP, [slice_(10, 100), slice_(0, 5, partition=1)])


def test_ledger_of_diverged_branch_does_not_count_here(lake: Lake, table: Table) -> None:
    base = lake.load().current_snapshot()
    assert base is not None
    lake.load().manage_snapshots().create_branch(base.snapshot_id, "other").commit()
    lake.load().append(lake.load().scan().to_arrow(), branch="other")
    head = lake.load().snapshot_by_name("other")
    assert head is not None
    kept = keep(lake, "connect-other", ledger(anchor=Anchor(head.snapshot_id, 9)), "other")
    check_no_shared_offsets(kept, MAIN_BRANCH, GROUP, [slice_(3, 5)])
    with pytest.raises(TableRefused, match="cannot tell"):
        check_no_shared_offsets(kept, "other", GROUP, [slice_(3, 5)])
