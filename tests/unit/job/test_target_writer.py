"""One task's rows for one table: what is written, held, owed, and wanted."""

from typing import Any

import pytest
from pyiceberg.io import load_file_io
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField

from floe.offsets.books import TableBooks
from floe.offsets.intervals import Intervals
from floe.offsets.ranges import OffsetRange
from floe_job.exceptions import BadRecords
from floe_job.target import Piece, Target
from floe_job.target_writer import TargetWriter
from tests.unit.job.conftest import TableFactory

SCHEMA = Schema(NestedField(1, "n", LongType(), required=False))
RANGE, OTHER = (OffsetRange("pizzas", "T1", p, 0, 10) for p in range(2))
PIECE, OTHER_PIECE = Piece(RANGE, 0, 10), Piece(OTHER, 0, 10)


def values(offsets: range) -> list[bytes]:
    return [b'{"n":%d}' % offset for offset in offsets]


def target_of(table: Table, **over: Any) -> Target:
    fields: dict[str, Any] = {
        "name": "ns.t",
        "metadata": table.metadata,
        "io": load_file_io(dict(table.properties), table.location()),
        "properties": table.properties,
        "held": {},
        "owed": frozenset(),
        "evolve": False,
    }
    return Target(**{**fields, **over})


def test_rows_are_written_and_counted_from_the_files(new_table: TableFactory) -> None:
    writer = TargetWriter(target_of(new_table(SCHEMA)), 0)
    writer.take(PIECE, range(4), values(range(4)))
    result = writer.close(complete=True)
    assert result.books == TableBooks(assigned=4, rows=4)
    assert result.files is not None
    assert sum(file.record_count for file in result.files.files) == 4


def test_what_is_held_is_left_out_and_counted(new_table: TableFactory) -> None:
    writer = TargetWriter(target_of(new_table(SCHEMA), held={RANGE: Intervals(((1, 3),))}), 0)
    writer.take(PIECE, range(4), values(range(4)))
    writer.take(OTHER_PIECE, range(4), values(range(4)))
    assert writer.close(complete=True).books == TableBooks(assigned=8, rows=6, held=2)


def test_what_is_owed_is_not_even_decoded_and_counted(new_table: TableFactory) -> None:
    writer = TargetWriter(target_of(new_table(SCHEMA), owed=frozenset({RANGE})), 0)
    writer.take(PIECE, range(3), [b"not json"] * 3)
    writer.take(OTHER_PIECE, range(4), values(range(4)))
    assert writer.close(complete=True).books == TableBooks(assigned=7, rows=4, owed=3)


def test_a_table_that_refused_takes_nothing_at_all() -> None:
    target = Target("ns.t", None, None, {}, {}, frozenset({RANGE}), evolve=True)
    writer = TargetWriter(target, 0)
    writer.take(PIECE, range(4), values(range(4)))
    result = writer.close(complete=True)
    assert (result.books, result.files, result.needs) == (TableBooks(assigned=4, owed=4), None, None)


def test_a_table_that_does_not_exist_wants_its_columns_and_keeps_nothing() -> None:
    writer = TargetWriter(Target("ns.t", None, None, {}, {}, frozenset(), evolve=True), 0)
    writer.take(PIECE, range(4), values(range(4)))
    assert writer.needs
    result = writer.close(complete=False)
    assert (result.books, result.files) == (TableBooks(), None)
    assert result.needs is not None
    assert result.needs.count() == 1


def test_when_another_table_lacks_columns_this_one_keeps_nothing_either(new_table: TableFactory) -> None:
    """All tables of a task are written again together."""
    writer = TargetWriter(target_of(new_table(SCHEMA)), 0)
    writer.take(PIECE, range(4), values(range(4)))
    result = writer.close(complete=False)
    assert (result.books, result.files, result.needs) == (TableBooks(), None, None)


def test_a_record_that_cannot_become_a_row_is_named_with_its_place_and_table(new_table: TableFactory) -> None:
    writer = TargetWriter(target_of(new_table(SCHEMA)), 0)
    with pytest.raises(BadRecords, match=r"1 of the 2 records.*table 'ns\.t'.*'pizzas' partition 0 offset 8"):
        writer.take(PIECE, range(7, 9), [b'{"n":1}', b'{"n":"many"}'])
