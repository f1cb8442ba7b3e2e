"""One task's rows for one table: what is written, held, owed, and wanted."""

from typing import Any

import pyarrow.parquet as pq
from pyiceberg.io import load_file_io
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from floe.model.accounting import TableCounts
from floe.model.offsets import Intervals
from floe_job.contract.task import TableTarget
from floe_job.schema.proposal import ColumnRules
from floe_job.write.table_rows import TableRows
from tests.support.job.converters import JSON_CONVERTERS
from tests.support.job.transforms import metadata
from tests.support.kafka.messages import OTHER_PIECE, PIECE, RANGE, Message, records
from tests.support.tables.parquet_tables import TableFactory

SCHEMA = Schema(NestedField(1, "n", LongType(), required=False))


def values(offsets: range) -> list[bytes]:
    return [b'{"n":%d}' % offset for offset in offsets]


def target_of(table: Table, **over: Any) -> TableTarget:
    fields: dict[str, Any] = {
        "name": "ns.t",
        "metadata": table.metadata,
        "io": load_file_io(dict(table.properties), table.location()),
        "properties": table.properties,
    }
    return TableTarget(**{**fields, **over})


def test_rows_are_written_and_counted_from_the_files(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(SCHEMA)), 0, JSON_CONVERTERS)
    writer.take(records(PIECE, values(range(4))))
    result = writer.close(complete=True)
    assert result.counts == TableCounts(assigned=4, rows=4)
    assert result.files is not None
    assert sum(file.record_count for file in result.files.files) == 4


def test_what_is_held_is_left_out_and_counted(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(SCHEMA), held={RANGE: Intervals(((1, 3),))}), 0, JSON_CONVERTERS)
    writer.take(records(PIECE, values(range(4))))
    writer.take(records(OTHER_PIECE, values(range(4))))
    assert writer.close(complete=True).counts == TableCounts(assigned=8, rows=6, held=2)


def test_what_is_owed_is_not_even_decoded_and_counted(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(SCHEMA), backlog=frozenset({RANGE})), 0, JSON_CONVERTERS)
    writer.take(records(PIECE, [b"not json"] * 3))
    writer.take(records(OTHER_PIECE, values(range(4))))
    assert writer.close(complete=True).counts == TableCounts(assigned=7, rows=4, backlog=3)


def test_a_table_that_refused_takes_nothing_at_all() -> None:
    target = TableTarget("ns.t", backlog=frozenset({RANGE}))
    writer = TableRows(target, 0, JSON_CONVERTERS)
    writer.take(records(PIECE, values(range(4))))
    result = writer.close(complete=True)
    assert (result.counts, result.files, result.needs) == (TableCounts(assigned=4, backlog=4), None, None)


def test_refusing_table_makes_dead_letters_of_what_it_lacks() -> None:
    target = TableTarget("ns.t", held={RANGE: Intervals(((1, 3),))}, refusal="table 'ns.t' takes no rows: no grant")
    writer = TableRows(target, 0, JSON_CONVERTERS)
    assert not writer.is_plain(RANGE)
    made = writer.take(records(PIECE, [b'{"n":1}', b"", b"", b"not json"]))
    assert [(one.offset, one.table, one.stage, one.error) for one in made] == [
        (0, "ns.t", "table", "TableRefused"),
        (3, "ns.t", "table", "TableRefused"),
    ]
    assert made[1].reason == "table 'ns.t' takes no rows: no grant"
    result = writer.close(complete=True)
    assert (result.counts, result.files) == (TableCounts(assigned=4, dead=2, held=2), None)
    assert not result.needs


def test_missing_table_requests_columns_and_keeps_no_rows() -> None:
    writer = TableRows(TableTarget("ns.t"), 0, JSON_CONVERTERS)
    writer.take(records(PIECE, values(range(4))))
    assert writer.needs
    result = writer.close(complete=False)
    assert (result.counts, result.files) == (TableCounts(), None)
    assert result.needs is not None
    assert result.needs.count() == 1


def test_rows_are_dropped_when_another_table_lacks_columns(new_table: TableFactory) -> None:
    """All tables of a task are written again together."""
    writer = TableRows(target_of(new_table(SCHEMA)), 0, JSON_CONVERTERS)
    writer.take(records(PIECE, values(range(4))))
    result = writer.close(complete=False)
    assert (result.counts, result.files, result.needs) == (TableCounts(), None, None)


def test_writer_that_lacks_columns_makes_no_letters_yet(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(SCHEMA), rules=ColumnRules(evolve=True)), 0, JSON_CONVERTERS)
    bad, new = b'{"n":"many"}', b'{"m":1}'
    assert len(writer.take(records(PIECE, [bad]), is_final=False)) == 1
    assert writer.take(records(PIECE, [bad, new]), is_final=False) == []
    assert len(writer.take(records(PIECE, [bad]))) == 1
    assert writer.close(complete=False).needs is not None


def test_unconvertible_record_is_dead_letter_with_its_place(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(SCHEMA)), 0, JSON_CONVERTERS)
    (dead_letter,) = writer.take(records(PIECE, [b'{"n":1}', b'{"n":"many"}', b'{"n":3}']))
    assert (dead_letter.topic, dead_letter.topic_id, dead_letter.partition, dead_letter.offset) == (
        "pizzas",
        "T1",
        0,
        1,
    )
    assert (dead_letter.table, dead_letter.stage, dead_letter.error, dead_letter.value) == (
        "ns.t",
        "coerce",
        "Unconvertible",
        b'{"n":"many"}',
    )
    assert (dead_letter.key, dead_letter.headers, dead_letter.timestamp) == (b"k", (("h", b"v"),), 7001)
    assert writer.close(complete=True).counts == TableCounts(assigned=3, rows=2, dead=1)


def test_metadata_columns_belong_to_records_that_became_rows(new_table: TableFactory) -> None:
    columns = [NestedField(i, f"m_{name}", LongType(), required=False) for i, name in ((2, "offset"), (3, "timestamp"))]
    table = new_table(Schema(*SCHEMA.fields, *columns))
    target = target_of(table, transforms=(metadata("m"),), held={RANGE: Intervals(((0, 1),))})
    writer = TableRows(target, 0, JSON_CONVERTERS)
    writer.take(records(PIECE, [b'{"n":0}', b'{"n":"many"}', b'{"n":2}', b'{"n":3}']))
    result = writer.close(complete=True)
    assert result.counts == TableCounts(assigned=4, rows=2, dead=1, held=1)
    assert result.files is not None
    rows = pq.read_table(result.files.files[0].file_path.removeprefix("file://")).to_pylist()
    assert rows == [{"n": n, "m_offset": n, "m_timestamp": 7000 + n} for n in (2, 3)]


def test_missing_metadata_columns_are_requested_after_others(new_table: TableFactory) -> None:
    writer = TableRows(TableTarget("ns.t", transforms=(metadata("m"),)), 0, JSON_CONVERTERS)
    writer.take(records(PIECE, values(range(1))))
    needs = writer.close(complete=False).needs
    assert needs is not None
    assert needs.new_schema().column_names == ["n", "m_topic", "m_partition", "m_offset", "m_timestamp"]


def test_record_of_thousand_fields_leaves_metadata_columns_in() -> None:
    """The caps count what a transform fills in, too: else the table would lack it for ever."""
    writer = TableRows(TableTarget("ns.t", transforms=(metadata("m"),)), 0, JSON_CONVERTERS)
    many = b"{" + b",".join(b'"f%d":1' % number for number in range(1000)) + b"}"
    (dead_letter,) = writer.take(records(PIECE, [many]))
    assert (dead_letter.stage, writer.take(records(PIECE, [b'{"n":1}']))) == ("schema", [])
    needs = writer.close(complete=False).needs
    assert needs is not None
    assert needs.new_schema().column_names == ["n", "m_topic", "m_partition", "m_offset", "m_timestamp"]


def test_record_column_never_gets_name_of_metadata_column() -> None:
    writer = TableRows(TableTarget("ns.t", transforms=(metadata("m", nested=True),)), 0, JSON_CONVERTERS)
    (dead_letter,) = writer.take(records(PIECE, [b'{"m.topic":1}']))
    assert dead_letter.stage == "schema"


def test_metadata_columns_are_found_case_insensitively(new_table: TableFactory) -> None:
    table = new_table(Schema(NestedField(1, "n", LongType(), required=False), NestedField(2, "M_OFFSET", LongType())))
    rules = ColumnRules(evolve=True, case_insensitive=True)
    writer = TableRows(target_of(table, transforms=(metadata("m"),), rules=rules), 0, JSON_CONVERTERS)
    writer.take(records(PIECE, values(range(1))))
    needs = writer.close(complete=False).needs
    assert needs is not None
    assert [".".join(path) for path in needs.columns] == ["m_topic", "m_partition", "m_timestamp"]


def test_record_with_unreadable_headers_column_is_no_row(new_table: TableFactory) -> None:
    writer = TableRows(target_of(new_table(SCHEMA), transforms=(metadata("m", headers=True),)), 0, JSON_CONVERTERS)
    (dead_letter,) = writer.take(records(PIECE, values(range(3)), [Message(0), Message(1, headers=None), Message(2)]))
    assert (dead_letter.offset, dead_letter.stage, dead_letter.headers) == (1, "transform", ())
    assert writer.close(complete=True).counts == TableCounts(assigned=3, rows=2, dead=1)
