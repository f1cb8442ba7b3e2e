"""Transforms of change data."""

from __future__ import annotations

from typing import Any

from tests.support.job.transform_cases.case import Case
from tests.support.job.transforms import transform

SOURCE = {"db": "inventory", "schema": "public", "table": "orders", "ts_ms": 1_700_000_000_123}


def event(op: str, before: Any = None, after: Any = None, **more: Any) -> dict[str, Any]:
    """Return a change event of Debezium without a schema."""
    return {"before": before, "after": after, "source": SOURCE, "op": op, "ts_ms": 1_700_000_000_456, **more}


def dms_event(operation: Any, **row: Any) -> dict[str, Any]:
    """Return a change event of AWS DMS."""
    metadata = {"operation": operation, "timestamp": "2024-01-02T03:04:05Z", "schema-name": "s", "table-name": "t"}
    return {"data": row, "metadata": metadata}


EVENTS = (
    *(event("c", after={"id": i, "name": "x"}) for i in range(20)),
    *(event("u", before={"id": i, "name": "x"}, after={"id": i, "name": "y"}) for i in range(20)),
    *(event("d", before={"id": i, "name": "y"}) for i in range(20)),
)

CHANGE_CASES = {
    "debezium-rows": Case(
        transform("ExtractNewRecordState"),
        bad=(event("c", after="text"), event("u", after=[1])),
        dropped=(event("t"),),
        keeps_tombstones=False,
    ),
    "debezium-rows-rewritten": Case(
        transform(
            "ExtractNewRecordState",
            delete_tombstone_handling_mode="rewrite-with-tombstone",
            add_fields="op,source.table:from",
            add_headers="op,ts_ms",
            route_by_field="name",
        ),
        bad=(event("c", after={"id": 1}), event("d", before="text"), event("c", after={"name": 7})),
        dropped=(event("t"),),
        plain=EVENTS,
    ),
    "documents": Case(
        transform("ExtractNewDocumentState", delete_tombstone_handling_mode="drop", flatten_struct="true"),
    ),
    "sink-documents": Case(transform("MongoDebeziumTransform"), bad=("text", {}), plain=()),
    "sink-debezium": Case(
        transform("DebeziumTransform", cdc_target_pattern="lake.{db}_{table}"),
        bad=("text", {"op": None}, {"op": "c", "after": {}}, event("c", after={}) | {"source": None}),
        dropped=(event("d"), event("c", after="text")),
        plain=EVENTS,
    ),
    "sink-dms": Case(
        transform("DmsTransform"),
        bad=("text", dms_event(None, id=1)),
        dropped=({"data": None}, {"metadata": {}}),
        plain=tuple(dms_event("update", id=i) for i in range(60)),
    ),
    "sink-copy": Case(transform("CopyValue", source_field="id", target_field="copy"), bad=("text", 7, ["a"])),
    "sink-json": Case(
        transform("JsonToMapTransform"),
        bad=("text", "[1]", {"a": 1}, 7, '{"":1}', '{"a":1e400}', '{"a":[0.5,-1e400]}'),
        plain=tuple(f'{{"id":{i},"tags":["a","b"],"more":{{"x":{i}.5}}}}' for i in range(60)),
    ),
    "sink-json-root": Case(
        transform("JsonToMapTransform", json_root="true"), bad=("{", '{"a":1e400}'), plain=('{"a":{"b":1}}', "{}") * 30
    ),
    "topic-of-value": Case(
        transform("ExtractTopic$Value", field="$.to", field_format="JSON_PATH"),
        bad=({"to": 1}, {}, "text"),
        keeps_tombstones=False,
    ),
    "topic-of-key": Case(transform("ExtractTopic$Key", skip_missing_or_null="true")),
    "topic-of-header": Case(transform("ExtractTopic$Header", field="h", skip_missing_or_null="true")),
    "tombstones": Case(transform("TombstoneHandler", behavior="ignore"), keeps_tombstones=False),
    "tombstones-refused": Case(transform("TombstoneHandler", behavior="fail"), keeps_tombstones=False),
}
