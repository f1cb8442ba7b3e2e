"""Dead letters as rows: in floe's own table, in one that a user created, and in one that is not suitable."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from floe.parquet.table_writer import TableWriter
from floe.tables.dead_letter_schema import DEAD_LETTERS_SCHEMA
from floe.tables.exceptions import DeadLetterTableUnsuitable
from floe_job.contract.dead_letter import DeadLetter
from floe_job.dead_letters.table_rows import dead_letters_to_arrow
from tests.support.tables.parquet_tables import TableFactory

LETTER = DeadLetter(
    topic="pizzas",
    topic_id="T1",
    partition=2,
    offset=2**40,
    timestamp=1_700_000_000_123,
    key=b"\x00key",
    value=b"\xff not json",
    headers=(("trace", b"\x01"), ("empty", b""), ("none", None), ("trace", b"again")),
    table="rpc.pizzas",
    stage="value_converter",
    error="Malformed",
    reason="not UTF-8",
)
BARE = DeadLetter("pizzas", "T1", 0, 0, None, None, None, (), None, "route", "RouteUnusable", "no table")


def rows(dead_letters: list[DeadLetter], schema: Schema = DEAD_LETTERS_SCHEMA, **more: Any) -> list[dict[str, Any]]:
    made = dead_letters_to_arrow(dead_letters, schema, "pizzas-sink", "c0ffee", table="ops.letters", **more)
    return made.to_pylist()  # type: ignore[no-any-return]


def test_a_letter_keeps_the_whole_record_and_says_why() -> None:
    assert rows([LETTER]) == [
        {
            "topic": "pizzas",
            "partition": 2,
            "offset": 2**40,
            "kind": "dead",
            "timestamp": datetime.fromtimestamp(1_700_000_000_123 / 1000, UTC),
            "key": b"\x00key",
            "value": b"\xff not json",
            "headers": [
                {"key": "trace", "value": b"\x01"},
                {"key": "empty", "value": b""},
                {"key": "none", "value": None},
                {"key": "trace", "value": b"again"},
            ],
            "table": "rpc.pizzas",
            "stage": "value_converter",
            "error": "Malformed",
            "reason": "not UTF-8",
            "connector": "pizzas-sink",
            "commit_id": "c0ffee",
            "topic_id": "T1",
        }
    ]


def test_null_and_empty_stay_apart() -> None:
    [bare, empty] = rows([BARE, replace(BARE, key=b"", value=b"")])
    assert (bare["key"], bare["value"], bare["headers"], bare["timestamp"], bare["table"]) == (
        None,
        None,
        [],
        None,
        None,
    )
    assert (empty["key"], empty["value"]) == (b"", b"")


def test_the_reason_is_bounded_and_the_record_is_not() -> None:
    [row] = rows([replace(LETTER, reason="x" * 1000, value=b"v" * 5_000_000)])
    assert (len(row["reason"]), len(row["value"])) == (300, 5_000_000)


def test_invalid_utf8_and_far_times_do_not_stop_a_dead_letter() -> None:
    for timestamp in (2**63 - 1, -(2**63), 253_402_300_800_000):
        [row] = rows([replace(LETTER, timestamp=timestamp, reason="\ud800", headers=(("\ud800", b""),))])
        assert (row["timestamp"], row["reason"], row["headers"]) == (None, "?", [{"key": "?", "value": b""}])


def test_no_letters_are_no_rows() -> None:
    assert rows([]) == []


def test_rows_written_to_floe_schema_are_read_back(new_table: TableFactory) -> None:
    table = new_table(DEAD_LETTERS_SCHEMA)
    made = dead_letters_to_arrow([LETTER, BARE], table.schema(), "pizzas-sink", str(uuid4()), table="ops.letters")
    writer = TableWriter(table.metadata, table.io, table.schema(), table.spec(), table.properties, "00000")
    writer.write(made)
    assert [file.record_count for file in writer.close()] == [2]
    table.append(made)
    read = table.scan(row_filter="offset == 0").to_arrow().to_pylist()
    assert [(row["topic"], row["headers"], row["stage"]) for row in read] == [("pizzas", [], "route")]


def test_foreign_table_may_reorder_widen_and_add_columns() -> None:
    own = [f.model_copy(update={"required": False}) for f in reversed(DEAD_LETTERS_SCHEMA.fields)]
    schema = Schema(NestedField(100, "team", StringType(), required=False), *own)
    [row] = rows([LETTER], schema)
    assert list(row)[:2] == ["team", "topic_id"]
    assert (row["team"], row["offset"]) == (None, 2**40)


def test_rows_for_an_unsuitable_table_are_refused() -> None:
    with pytest.raises(DeadLetterTableUnsuitable, match="no column 'reason'"):
        rows([LETTER], Schema(*(f for f in DEAD_LETTERS_SCHEMA.fields if f.name != "reason")))
