"""Transforms of change data on values without schemas, and Confluent's: what no Java class decides."""

from __future__ import annotations

from typing import Any

import pytest

from floe_job.convert.base import Parsed
from floe_job.source.record_batch import ParsedValues
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.chain import Chain
from tests.support.job.transform_cases.change_data import event
from tests.support.job.transforms import transform
from tests.support.kafka.messages import PIECE, records

ROW = {"id": 1, "name": "x"}


def applied(kind: str, values: list[Any], headers: list[Any] | None = None, **keys: str) -> ParsedBatch:
    given: list[Any] = [b"x" if value is not None else None for value in values]
    source = records(PIECE, given)
    batch = ParsedBatch.of(source, Parsed(ParsedValues(values), ()))
    if headers is not None:
        batch = batch.changed(headers=headers)
    return Chain.of([transform(kind, **keys)]).apply(batch)


def test_events_without_schemas_become_rows() -> None:
    values = [event("c", after=ROW), event("u", ROW, {**ROW, "name": "y"}), event("d", ROW), event("t"), None]
    done = applied("ExtractNewRecordState", values, add_fields="op,table,ts_ms,transaction.id")
    assert done.values == [
        {**ROW, "__op": "c", "__table": "orders", "__ts_ms": 1_700_000_000_456},
        {**ROW, "name": "y", "__op": "u", "__table": "orders", "__ts_ms": 1_700_000_000_456},
        None,
    ]
    assert (list(done.places), done.filtered, done.tombstones) == ([0, 1, 2], 2, 1)


def test_deletes_without_schemas_are_rewritten() -> None:
    keys = {"delete_tombstone_handling_mode": "rewrite-with-tombstone", "add_headers": "op,db"}
    done = applied(
        "ExtractNewRecordState", [event("c", after=ROW), event("d", ROW), None], [[], [("h", b"1")], []], **keys
    )
    assert done.values == [{**ROW, "__deleted": "false"}, {**ROW, "__deleted": "true"}, None]
    assert done.read_headers() == [
        [("__op", b"c"), ("__db", b"inventory")],
        [("h", b"1"), ("__op", b"d"), ("__db", b"inventory")],
        [("__op", b"d")],
    ]


@pytest.mark.parametrize(
    "value", [{"ts_ms": 1}, {"op": "c", "after": ROW}, {"op": 1, "source": {}, "after": ROW}, "text", [ROW], {}]
)
def test_values_that_are_no_events_stay_as_they_are(value: Any) -> None:
    assert applied("ExtractNewRecordState", [value]).values == [value]


def test_document_in_an_event_is_refused_with_its_class() -> None:
    done = applied("ExtractNewRecordState", [event("c", after='{"_id":1}')])
    assert "ExtractNewDocumentState" in done.rejected[0].reason


def test_fields_that_a_header_names_are_left_out() -> None:
    keys = {"drop_fields_header_name": "drop"}
    headers = [[("drop", b'["name"]')], [("drop", b"name")], [("drop", None)], []]
    done = applied("ExtractNewRecordState", [event("c", after=ROW)] * 4, headers, **keys)
    assert done.values == [{"id": 1}, ROW, ROW]
    assert [one.index for one in done.rejected] == [1]


def test_topic_is_the_field_of_a_row() -> None:
    values = [event("c", after=ROW), event("d", {**ROW, "name": "gone"}), event("c", after={**ROW, "name": " "})]
    done = applied("ExtractNewRecordState", values, route_by_field="name")
    assert done.read_topics() == ["x", "gone", "pizzas"]


@pytest.mark.parametrize(
    ("value", "keys", "topic"),
    [
        ({"a": {"b": ["x", "y"]}}, {"field": "$.a['b'][1]", "field_format": "JSON_PATH"}, "y"),
        ({"a.b": "t"}, {"field": "a.b"}, "t"),
        ({"a": None}, {"field": "a", "skip_missing_or_null": "true"}, "pizzas"),
        ({}, {"field": "a"}, None),
        ({"a": ""}, {"field": "a"}, None),
        ({"a": 7}, {"field": "a", "skip_missing_or_null": "true"}, None),
        ("whole", {}, "whole"),
    ],
)
def test_extract_topic_of_values(value: Any, keys: dict[str, str], topic: str | None) -> None:
    done = applied("ExtractTopic$Value", [value], **keys)
    assert list(done.read_topics()) == ([] if topic is None else [topic])
    assert len(done.rejected) == (1 if topic is None else 0)


def test_extract_topic_of_the_last_header() -> None:
    headers = [[("h", b"a"), ("h", b"b")], [("x", b"a")], [("h", b"\xff")]]
    done = applied("ExtractTopic$Header", [ROW] * 3, headers, field="h", skip_missing_or_null="true")
    assert done.read_topics() == ["b", "pizzas"]
    assert [one.index for one in done.rejected] == [2]


@pytest.mark.parametrize(("behavior", "counts"), [("ignore", (1, 0)), ("warn", (1, 0)), ("fail", (0, 1))])
def test_tombstones_are_handled(behavior: str, counts: tuple[int, int]) -> None:
    done = applied("TombstoneHandler", [ROW, None], behavior=behavior)
    assert (done.filtered, len(done.rejected)) == counts
    assert done.values == [ROW]
