"""The dead-letter table as a slice finds it: created, refused, and with the dead letters that are open."""

from typing import Any

import pytest
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, ListType, LongType, MapType, NestedField, StringType, StructType, TimestampType

from floe.tables.dead_letter_schema import DEAD_LETTERS_SCHEMA, check_suitable
from floe.tables.dead_letter_table import DeadLetterTable
from floe.tables.exceptions import DeadLetterTableUnsuitable
from tests.support.tables.lake import SCHEMA, TOPIC, Lake
from tests.support.tables.slices import make_plan

DEAD_LETTERS = "rpc.letters"


def opened(lake: Lake, **plan: Any) -> DeadLetterTable:
    found = make_plan((0, 0, 100), **plan)
    return DeadLetterTable.open(
        lake.opened(**{"floe.deadletter.table": DEAD_LETTERS}), DEAD_LETTERS, found, found.slices[0]
    )


def test_open_missing_table_is_created_and_contains_nothing(lake: Lake) -> None:
    found = opened(lake)
    assert lake.load(DEAD_LETTERS).schema().column_names == DEAD_LETTERS_SCHEMA.column_names
    assert [(str(r), new.spans) for r, new in found.new_offsets] == [(f"{TOPIC}-0[0, 100)", ((0, 100),))]
    assert not found.open_dead_letters


def test_open_table_of_others_is_refused(lake: Lake) -> None:
    lake.create(schema=SCHEMA, name=DEAD_LETTERS)
    with pytest.raises(DeadLetterTableUnsuitable, match="no column 'topic'"):
        opened(lake)


def changed(name: str, **over: Any) -> Schema:
    """Floe's schema with one column changed."""
    return Schema(*(f.model_copy(update=over) if f.name == name else f for f in DEAD_LETTERS_SCHEMA.fields))


HEADERS_AS_MAP = MapType(key_id=20, key_type=StringType(), value_id=21, value_type=StringType())
VALUES_REQUIRED = ListType(
    20,
    StructType(
        NestedField(21, "key", StringType(), required=True), NestedField(22, "value", StringType(), required=True)
    ),
)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (
            Schema(*(f for f in DEAD_LETTERS_SCHEMA.fields if f.name != "reason")),
            "no column 'reason': add it as string",
        ),
        (changed("offset", field_type=IntegerType()), "column 'offset' of type int, long is needed"),
        (changed("partition", field_type=LongType()), "column 'partition' of type long, int is needed"),
        (changed("timestamp", field_type=TimestampType()), "'timestamp' of type timestamp, timestamptz is needed"),
        (
            changed("headers", field_type=HEADERS_AS_MAP),
            r"'headers' of type map<string, string>, list<struct<key: string required, value: binary>> is needed",
        ),
        (changed("headers", field_type=VALUES_REQUIRED), "value: string required>>, list<"),
        (changed("table", required=True), "requires column 'table', which dead letters may not have"),
        (
            Schema(*DEAD_LETTERS_SCHEMA.fields, NestedField(100, "team", StringType(), required=True)),
            "requires column 'team', which dead letters do not have",
        ),
    ],
)
def test_unfit_table_is_refused_with_columns_types_and_advice(schema: Schema, problem: str) -> None:
    with pytest.raises(DeadLetterTableUnsuitable) as caught:
        check_suitable("ops.letters", schema)
    message = str(caught.value)
    assert message.startswith("dead-letter table 'ops.letters' ")
    assert problem in message
    assert "floe.deadletter.table" in message
