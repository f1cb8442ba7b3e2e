"""Books: each offset once, each record meant for a table once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from floe.model.accounting import RangeCounts, TableCounts, balance_tables, check_range_counts
from floe.model.exceptions import CountsDoNotAddUp
from floe.model.offsets import OffsetRange

COUNTS = st.integers(0, 50)
RANGE_BOOKS = st.builds(RangeCounts, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)
TABLE_BOOKS = st.builds(TableCounts, COUNTS, COUNTS, COUNTS, COUNTS, COUNTS)


@given(RANGE_BOOKS, st.integers(-3, 3))
def test_range_adds_up_when_every_offset_is_in_one_column(counts: RangeCounts, off_by: int) -> None:
    length = counts.total + off_by
    if length < 0:
        return
    r = OffsetRange("t", "id", 2, 10, 10 + length)
    if off_by == 0:
        check_range_counts(r, counts)
    else:
        with pytest.raises(CountsDoNotAddUp, match=rf"t-2\[10, {r.end}\).*{length} offsets, but {counts.total}"):
            check_range_counts(r, counts)


@given(RANGE_BOOKS, RANGE_BOOKS)
def test_books_add_up_field_by_field_and_survive_json(a: RangeCounts, b: RangeCounts) -> None:
    assert (a + b).total == a.total + b.total
    assert RangeCounts.from_json((a + b).to_json()) == a + b


@given(TABLE_BOOKS)
def test_table_books_survive_json(counts: TableCounts) -> None:
    assert TableCounts.from_json(counts.to_json()) == counts


@pytest.mark.parametrize("column", ["rows", "dead", "held", "backlog"])
def test_every_column_of_a_table_counts(column: str) -> None:
    balance_tables([RangeCounts(routed=4)], {"db.t": TableCounts(assigned=4, **{column: 4})}, 4)
    with pytest.raises(CountsDoNotAddUp, match=r"'db\.t'.*4 records assigned, but 3"):
        balance_tables([RangeCounts(routed=4)], {"db.t": TableCounts(assigned=4, **{column: 3})}, 4)


def test_a_table_with_more_rows_than_records_does_not_balance() -> None:
    with pytest.raises(CountsDoNotAddUp, match="1 records assigned, but 2"):
        balance_tables([RangeCounts(routed=1)], {"db.t": TableCounts(assigned=1, rows=2)}, 1)


def test_a_routed_record_must_be_meant_for_a_table() -> None:
    with pytest.raises(CountsDoNotAddUp, match="5 records were routed"):
        balance_tables([RangeCounts(routed=3), RangeCounts(routed=2)], {"db.t": TableCounts(assigned=4, rows=4)}, 4)


def test_one_record_may_go_to_two_tables() -> None:
    counts = {"db.a": TableCounts(assigned=2, rows=2), "db.b": TableCounts(assigned=1, dead=1)}
    balance_tables([RangeCounts(routed=2)], counts, 3)


def test_what_was_meant_for_a_second_table_must_arrive_there_too() -> None:
    counts = {"db.a": TableCounts(assigned=2, rows=2), "db.b": TableCounts(assigned=1, rows=1)}
    with pytest.raises(CountsDoNotAddUp, match=r"2 records were routed, 4 times to a table.*were assigned 3"):
        balance_tables([RangeCounts(routed=2)], counts, 4)


def test_a_record_that_was_routed_is_handed_over_at_least_once() -> None:
    with pytest.raises(CountsDoNotAddUp, match="5 records were routed, 4 times"):
        balance_tables([RangeCounts(routed=5)], {"db.t": TableCounts(assigned=4, rows=4)}, 4)
