"""Row 34: columns that two writers change at once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.faults.harness import foreign
from tests.faults.harness.dead_letters import DEAD_LETTERS, known
from tests.faults.harness.sink import MakeSink, Sink
from tests.faults.oracle.stamps import FOREIGN
from tests.support.runs.poison import Poison, spoiled


def columns_of(sink: Sink) -> dict[str, str]:
    """Return the columns of the table by another reader, with their types."""
    with foreign.opened(sink) as table:
        return {field.name: str(field.field_type) for field in table.schema().fields}


def values_in(sink: Sink, column: str) -> list[Any]:
    """Read a column by another reader, sorted; nulls are left out."""
    with foreign.opened(sink) as table:
        found = table.scan(selected_fields=(column,)).to_arrow().column(column).to_pylist()
    return sorted(value for value in found if value is not None)


def numbers(sink: Sink, *values: Any, field: str = "n", poison: Poison | None = None) -> None:
    """Produce a record for each value, in both partitions."""
    for partition in (0, 1):
        for value in values:
            sink.producer.write(poison, partition, **{field: value})
    sink.producer.flush()


def test_row_34_int_column_is_widened_within_an_interval(lettered: Sink) -> None:
    foreign.add_column(lettered, name="size", kind="int")
    numbers(lettered, 1, 2, field="size")
    lettered.run()
    assert columns_of(lettered)["size"] == "int"
    numbers(lettered, 3, 3_000_000_000, 4, field="size")
    numbers(lettered, "no", True, 2**63, field="size", poison=Poison(spoiled(), "coerce", "column 'size'"))
    lettered.run()
    assert columns_of(lettered)["size"] == "long"
    assert values_in(lettered, "size") == sorted([1, 2, 3, 3_000_000_000, 4] * 2)
    lettered.assert_exactly_once()


def test_row_34_column_widened_by_others_before_commit_is_kept(lettered: Sink) -> None:
    foreign.add_column(lettered, name="size", kind="int")
    numbers(lettered, 1, 2, field="size")
    run = lettered.new_run()
    assert run.step("plan").is_done
    assert run.step("write").is_done
    foreign.widen(lettered, "size")
    assert run.step("commit").is_done
    numbers(lettered, 3_000_000_000, field="size")
    lettered.run()
    assert values_in(lettered, "size") == sorted([1, 2, 3_000_000_000] * 2)
    lettered.assert_exactly_once()


@pytest.mark.parametrize("kind", ["long", "string", "boolean", "int"])
def test_row_34_column_added_by_others_during_evolution_is_used(lettered: Sink, kind: str) -> None:
    unfit = Poison(spoiled(), "coerce", "column 'extra'")
    numbers(lettered, 1, 2, 3, field="extra", poison=unfit if kind == "boolean" else None)
    run = lettered.new_run()
    assert run.step("plan").is_done
    attempt = run.held("write", "write.schema")
    foreign.add_column(lettered, name="extra", kind=kind)
    attempt.go_on()
    assert attempt.finish().is_done
    assert run.step("commit").is_done
    assert columns_of(lettered)["extra"] == kind
    numbers(lettered, 4, field="extra", poison=unfit if kind == "boolean" else None)
    expected = {"boolean": [], "string": sorted("1234" * 2)}.get(kind, sorted([1, 2, 3, 4] * 2))
    lettered.assert_exactly_once()
    assert values_in(lettered, "extra") == expected


@pytest.mark.parametrize("theirs", ["long", "text"])
def test_row_34_two_connectors_change_one_table_at_once(make_sink: MakeSink, theirs: str) -> None:
    ours = known(make_sink(**{"floe.deadletter.table": DEAD_LETTERS}))
    catalog = {key: value for key, value in ours.keys.items() if key.startswith("iceberg.catalog")}
    other = make_sink(folder=ours.folder, **catalog, **{"floe.deadletter.table": "dead.others"})
    value = {"long": 7, "text": "seven"}[theirs]
    poison = Poison(spoiled(), "coerce", "column 'both'") if theirs == "text" else None
    for partition in (0, 1):
        for i in range(20):
            ours.producer.write(partition=partition, n=i, mine=i, both=i)
            other.producer.write(poison, partition, n=i, theirs="x", both=value)
            other.producer.write(partition=partition, n=i, theirs="x")
    ours.producer.flush()
    other.producer.flush()
    runs = [one.new_run() for one in (ours, other)]
    assert all(run.step("plan").is_done for run in runs)
    attempts = [run.held("write", "write.schema") for run in runs]
    for attempt in attempts:
        attempt.go_on()
        if theirs == "text":
            assert attempt.finish().is_done  # the first one decides
    assert all(attempt.finish().is_done for attempt in attempts)
    commits = [run.start("commit") for run in runs]
    assert all(commit.finish().is_done for commit in commits)
    columns = columns_of(ours)
    assert [columns[name] for name in ("n", "mine", "both", "theirs")] == ["long", "long", "long", "string"]
    assert len(columns) == len(set(columns))
    for one, neighbour in ((ours, other), (other, ours)):
        acks = neighbour.producer.acks
        one.foreign["db.t"] = [stamp for stamp in acks.places if stamp not in acks.poison and stamp.run != FOREIGN]
        one.assert_exactly_once()
