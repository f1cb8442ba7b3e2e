"""Memory and open files, bounded over all partitions of all tables of one task."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow.parquet as pq
import pytest
from pyiceberg.transforms import IdentityTransform

from floe.parquet.budget import WriteBudget
from floe.parquet.table_writer import TableWriter
from tests.support.tables.parquet_tables import SCHEMA, TableFactory, commit, local, rows, spec, write, writer

BY_ID = spec((1, IdentityTransform(), "id"))


class Pile:
    """A holder that writes down what is asked of it."""

    def __init__(self, budget: WriteBudget, name: str, log: list[str]) -> None:
        self.waiting_bytes = 0
        self.budget, self.name, self.log = budget, name, log

    def grow(self, size: int) -> None:
        self.waiting_bytes += size
        self.budget.hold(self, size)
        self.budget.enforce()

    def flush(self) -> None:
        self.log.append(f"flush {self.name}")
        size, self.waiting_bytes = self.waiting_bytes, 0
        self.budget.release(self, size)

    def finish(self) -> None:
        self.log.append(f"finish {self.name}")
        self.budget.closed(self)


PileFactory = Callable[[WriteBudget, str], Pile]


@pytest.fixture
def log() -> list[str]:
    """Collect what is asked of piles."""
    return []


@pytest.fixture
def pile(log: list[str]) -> PileFactory:
    return lambda budget, name: Pile(budget, name, log)


# -- the budget -------------------------------------------------------------------------------------------------------


def test_largest_is_flushed_first_until_the_rest_fits(pile: PileFactory, log: list[str]) -> None:
    budget = WriteBudget(buffer_bytes=100)
    small, large, middle = (pile(budget, name) for name in ("small", "large", "middle"))
    small.grow(10)
    large.grow(20)
    large.grow(30)
    middle.grow(40)
    assert (log, budget.waiting_bytes) == ([], 100)
    small.grow(1)
    assert (log, budget.waiting_bytes) == (["flush large"], 51)
    small.grow(50)
    assert (log[1:], budget.waiting_bytes) == (["flush small"], 40)
    large.grow(99)
    assert (log[2:], budget.waiting_bytes) == (["flush large"], 40)


def test_what_was_flushed_by_itself_is_not_flushed_again(pile: PileFactory, log: list[str]) -> None:
    budget = WriteBudget(buffer_bytes=100)
    first, second = pile(budget, "first"), pile(budget, "second")
    first.grow(90)
    first.flush()
    first.grow(5)
    second.grow(96)
    assert log == ["flush first", "flush second"]
    assert budget.waiting_bytes == 5


def test_many_small_steps_leave_nothing_behind(pile: PileFactory) -> None:
    budget = WriteBudget(buffer_bytes=10_000)
    piles = [pile(budget, str(i)) for i in range(10)]
    for step in range(20_000):
        piles[step % 10].grow(1 + step % 3)
        assert len(budget._by_size) < 1100
    assert budget.waiting_bytes == sum(each.waiting_bytes for each in piles) <= 10_000


def test_the_file_least_recently_written_to_is_finished_first(pile: PileFactory, log: list[str]) -> None:
    budget = WriteBudget(max_open=2)
    first, second, third = (pile(budget, name) for name in ("first", "second", "third"))
    for each in (first, second, first, third):
        if each is third:
            budget.make_room()
        budget.wrote(each)
    assert (log, budget.open_files) == (["finish second"], 2)


@pytest.mark.parametrize(("buffer_bytes", "max_open"), [(-1, 1), (0, 0)])
def test_a_budget_that_lets_nobody_write_is_refused(buffer_bytes: int, max_open: int) -> None:
    with pytest.raises(ValueError, match="allows no file to be written: allow 0 bytes or more and 1 file or more"):
        WriteBudget(buffer_bytes, max_open)


# -- one table --------------------------------------------------------------------------------------------------------


def test_open_files_are_bounded_and_oldest_is_closed_first(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, BY_ID)
    batch = rows(table, id=list(range(20)), name=["x"] * 20)
    budget = WriteBudget(buffer_bytes=1, max_open=3)
    writing = writer(table, budget=budget)
    for _ in range(2):
        writing.write(batch)
        assert budget.open_files == 3
    files = writing.close()
    assert len(files) == 40
    assert [file.partition[0] for file in files[:3]] == [0, 1, 2]
    assert budget.open_files == 0
    assert commit(table, files).num_rows == 40


def test_waiting_rows_of_many_partitions_stay_bounded(new_table: TableFactory) -> None:
    table = new_table(SCHEMA, BY_ID)
    budget = WriteBudget(buffer_bytes=5000)
    writing = writer(table, budget=budget)
    for _ in range(5):
        writing.write(rows(table, id=list(range(300)), name=["x" * 10] * 300))
        assert sum(held.waiting_bytes for held in writing._partitions.values()) == budget.waiting_bytes <= 5000
    assert commit(table, writing.close()).num_rows == 1500
    assert budget.waiting_bytes == 0


def test_row_groups_are_written_early_when_memory_is_short(new_table: TableFactory) -> None:
    table = new_table(SCHEMA)
    batch = rows(table, id=list(range(1000)), name=["x"] * 1000)
    (file,) = write(table, *[batch] * 10, budget=WriteBudget(buffer_bytes=30_000))
    assert pq.read_metadata(local(file.file_path)).num_row_groups > 3


# -- all tables of a task ---------------------------------------------------------------------------------------------


@pytest.fixture
def pair(new_table: TableFactory) -> Callable[[WriteBudget], tuple[TableWriter, TableWriter]]:
    """Open writers of two tables under one budget."""

    def make(budget: WriteBudget) -> tuple[TableWriter, TableWriter]:
        return writer(new_table(SCHEMA), budget=budget), writer(new_table(SCHEMA), budget=budget)

    return make


def test_rows_of_one_table_push_out_those_of_another(
    new_table: TableFactory, pair: Callable[[WriteBudget], tuple[TableWriter, TableWriter]]
) -> None:
    budget = WriteBudget(buffer_bytes=40_000)
    large, small = pair(budget)
    batch = rows(new_table(SCHEMA), id=list(range(1000)), name=["x"] * 1000)
    large.write(batch)
    large.write(batch.slice(0, 500))
    small.write(batch)
    assert budget.waiting_bytes <= 40_000
    assert budget.open_files == 1
    assert [file.record_count for file in large.close()] == [1500]
    assert [file.record_count for file in small.close()] == [1000]


def test_open_files_of_one_table_push_out_those_of_another(
    new_table: TableFactory, pair: Callable[[WriteBudget], tuple[TableWriter, TableWriter]]
) -> None:
    budget = WriteBudget(buffer_bytes=0, max_open=1)
    first, second = pair(budget)
    batch = rows(new_table(SCHEMA), id=[1], name=["x"])
    for writing in (first, first, second, first):
        writing.write(batch)
        assert budget.open_files == 1
    assert [file.record_count for file in first.close()] == [2, 1]
    assert [file.record_count for file in second.close()] == [1]


def test_closing_one_table_finishes_no_file_of_another(
    new_table: TableFactory, pair: Callable[[WriteBudget], tuple[TableWriter, TableWriter]]
) -> None:
    budget = WriteBudget(buffer_bytes=30_000, max_open=1)
    waiting, writing = pair(budget)
    batch = rows(new_table(SCHEMA), id=list(range(1000)), name=["x"] * 1000)
    waiting.write(batch.slice(0, 10))
    for _ in range(5):
        writing.write(batch)
    assert [file.record_count for file in waiting.close()] == [10]
    assert budget.open_files == 1
    assert [file.record_count for file in writing.close()] == [5000]


def test_a_table_that_is_dropped_gives_back_what_it_held(
    new_table: TableFactory, pair: Callable[[WriteBudget], tuple[TableWriter, TableWriter]]
) -> None:
    budget = WriteBudget(buffer_bytes=30_000)
    dropped, kept = pair(budget)
    batch = rows(new_table(SCHEMA), id=list(range(1000)), name=["x"] * 1000)
    for _ in range(3):
        dropped.write(batch)
    dropped.abort()
    assert (budget.waiting_bytes, budget.open_files) == (0, 0)
    kept.write(batch)
    assert [file.record_count for file in kept.close()] == [1000]
