"""Dead letters of replays that were never finished, and the rows that those left where they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from floe.config import Connector
from floe.model.dead_letters import DeadLetterOffsets
from floe.model.holding import LogId
from floe.model.ledger import Ledger
from floe.model.offsets import Intervals, OffsetRange
from floe.model.plan import commit_id_of
from floe.planning.dead_letter_replay import dead_letters_with_rows
from floe.tables.dead_letter_schema import DEAD_LETTERS_SCHEMA
from floe.tables.snapshot_commit import append
from tests.support.tables.lake import CLUSTER, GROUP, LEDGER, OTHER_TABLE, ROUTE, TABLE, TOPIC, TOPIC_ID, Lake

REPLAY = "0192f0c1d2e37a4b8c5d6e7f8a9b0c1d"
LOG = LogId(TOPIC, TOPIC_ID, 0)
TEN = OffsetRange(*LOG, 0, 10)
KAFKA_COLUMNS = Schema(
    NestedField(1, "kafka_topic", StringType(), required=False),
    NestedField(2, "kafka_partition", IntegerType(), required=False),
    NestedField(3, "kafka_offset", LongType(), required=False),
)
KEYS = {
    "floe.deadletter.table": OTHER_TABLE,
    "transforms": "meta",
    "transforms.meta.type": "org.apache.iceberg.connect.transforms.KafkaMetadataTransform",
    "transforms.meta.field_name": "kafka",
}


@pytest.fixture
def message(lake: Lake) -> Lake:
    """Give a table with rows of the offsets 0 to 4, and dead letters of 2, 3 (for no table yet) and 7."""
    lake.create(schema=KAFKA_COLUMNS)
    rows = [{"kafka_topic": TOPIC, "kafka_partition": 0, "kafka_offset": offset} for offset in range(5)]
    table = lake.load()
    table.append(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())))
    dead_letters = lake.create(schema=DEAD_LETTERS_SCHEMA, name=OTHER_TABLE)
    dead: list[dict[str, Any]] = [
        {"offset": 2, "table": TABLE, "commit_id": str(commit_id_of(GROUP, REPLAY))},
        {"offset": 3, "table": None, "commit_id": str(commit_id_of(GROUP, REPLAY))},
        {"offset": 7, "table": TABLE, "commit_id": str(commit_id_of(GROUP, REPLAY))},
        {"offset": 4, "table": TABLE, "commit_id": str(commit_id_of(GROUP, "a-live-run"))},
    ]
    place = {"topic": TOPIC, "topic_id": TOPIC_ID, "partition": 0, "kind": "dead", "connector": "pizzas"}
    dead_letters.append(
        pa.Table.from_pylist([{**place, **one} for one in dead], schema=schema_to_pyarrow(dead_letters.schema()))
    )
    knows(lake, OTHER_TABLE, Ledger(CLUSTER).with_replay(REPLAY, 0))
    return lake


def knows(lake: Lake, name: str, ledger: Ledger) -> None:
    append(lake.load(name), "main", (), {}, LEDGER, ledger)


FOUND = DeadLetterOffsets(
    {TABLE: {LOG: Intervals(((2, 3), (4, 5), (7, 8)))}, None: {LOG: Intervals(((3, 4),))}},
)


def kept(lake: Lake, connector: Connector | None = None, found: DeadLetterOffsets = FOUND) -> DeadLetterOffsets:
    opened = replace(lake.opened(), connector=connector or lake.connector(**KEYS))
    return dead_letters_with_rows(opened, opened.state(OTHER_TABLE), found, [TEN])


def test_letters_of_an_unfinished_replay_with_rows_are_found(message: Lake) -> None:
    expected = {TABLE: {LOG: Intervals(((2, 3),))}, None: {LOG: Intervals(((3, 4),))}}
    assert kept(message) == DeadLetterOffsets(expected)


def test_letters_of_a_finished_replay_are_as_any_other(message: Lake) -> None:
    knows(message, TABLE, Ledger(CLUSTER).with_replay(REPLAY, 0))
    assert kept(message) == DeadLetterOffsets()


def test_letters_of_a_second_slice_that_is_missing_are_found(message: Lake) -> None:
    knows(message, OTHER_TABLE, Ledger(CLUSTER).with_replay(REPLAY, 1))
    knows(message, TABLE, Ledger(CLUSTER).with_replay(REPLAY, 0))
    assert kept(message).count == 2


def test_letters_that_are_not_asked_for_are_not_found(message: Lake) -> None:
    assert kept(message, found=DeadLetterOffsets({TABLE: {LOG: Intervals(((7, 8),))}})) == DeadLetterOffsets()
    assert kept(message, found=DeadLetterOffsets()) == DeadLetterOffsets()


def test_table_without_columns_of_origin_has_none(message: Lake) -> None:
    assert kept(message, message.connector(**{"floe.deadletter.table": OTHER_TABLE})) == DeadLetterOffsets()


def test_rows_of_another_topic_of_that_name_are_no_evidence(message: Lake) -> None:
    before = OffsetRange(TOPIC, "T0", 0, 0, 10)
    knows(message, TABLE, Ledger(CLUSTER).with_replayed([(before, ROUTE)]))
    assert kept(message) == DeadLetterOffsets()
