"""Which transforms of change data are compared with the Java classes, with which options, on what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.support.java.transforms.case import Case, Known
from tests.support.java.transforms.setup import Options

ICEBERG: Final = "org.apache.iceberg.connect.transforms"
DEBEZIUM: Final = "io.debezium.transforms"

_FILLS_NOT: Final = {"replace.null.with.default": "false"}
_NEW_RECORD_STATE: Final[Sequence[Options]] = (
    {},
    {"delete.tombstone.handling.mode": "drop", "add.fields": "op,table,lsn,source.ts_ms,ts_ms,nothing"},
    {"delete.tombstone.handling.mode": "Rewrite", "add.fields": "op:kind,total_order", "add.fields.prefix": ""},
    {"delete.tombstone.handling.mode": "rewrite-with-tombstone", "add.headers": "op,db,ts_ms,transaction.id:tx"},
    {"delete.tombstone.handling.mode": "delete-to-tombstone", "route.by.field": "a", "add.headers.prefix": "h_"},
    {"delete.tombstone.handling.mode": "rewrite", "route.by.field": "b", **_FILLS_NOT},
    {"add.fields": "source", "add.headers": "source,a.b"},
    {"add.fields": "transaction", "delete.tombstone.handling.mode": "rewrite"},
    {"add.fields": "transaction.x,source.name:a", "add.fields.prefix": ""},
    {"drop.fields.header.name": "drop", "drop.fields.from.key": "true", "delete.tombstone.handling.mode": "rewrite"},
    {"drop.fields.header.name": "drop", "drop.fields.keep.schema.compatible": "false"},
)


_NEW_DOCUMENT_STATE: Final[Sequence[Options]] = (
    {"delete.handling.mode": "drop"},
    {"delete.tombstone.handling.mode": "rewrite", "array.encoding": "document", "add.fields": "op,db,ts_ms"},
    {
        "delete.tombstone.handling.mode": "rewrite-with-tombstone",
        "flatten.struct": "true",
        "add.headers": "op,collection",
    },
    {
        "drop.tombstones": "false",
        "delete.handling.mode": "none",
        "flatten.struct": "true",
        "flatten.struct.delimiter": "-",
    },
    {"delete.tombstone.handling.mode": "drop", "add.fields": "snapshot:s,source.name", "add.fields.prefix": ""},
    {"delete.tombstone.handling.mode": "rewrite", "delete.tombstone.handling.mode.rewrite-with-id": "true"},
)

CHANGE_CASES: Final[dict[str, Case]] = {
    "ExtractNewDocumentState": Case(
        "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState",
        _NEW_DOCUMENT_STATE,
        ("mongodb structs", "debezium structs"),
        refused=({"array.encoding": "x"},),
        known=(
            Known(
                "Java refuses arrays of dates, as it reads them as plain integers; floe has a column of timestamps.",
                r"Java: refused, .*Value expected to be of type INT(32|64) is of unexpected type .*; floe: record, .*",
                ("mongodb structs",),
            ),
        ),
        jars="mongodb",
        apart={"mongodb objects": "Java leaves events without a schema as they are, floe takes the rows out of them"},
    ),
    "MongoDebeziumTransform": Case(
        f"{ICEBERG}.MongoDebeziumTransform",
        ({}, {"array_handling_mode": "document"}),
        ("mongodb structs", "debezium structs"),
        apart=dict.fromkeys(
            ("objects", "debezium objects"), "Java makes a tombstone of a value without a schema, floe refuses it"
        ),
    ),
    "DebeziumTransform": Case(
        f"{ICEBERG}.DebeziumTransform",
        ({}, {"cdc.target.pattern": "lake.{db}_{table}"}, {"cdc.target.pattern": " x "}),
        ("debezium structs", "debezium objects", "structs"),
    ),
    "DmsTransform": Case(
        f"{ICEBERG}.DmsTransform",
        ({},),
        ("dms", "objects"),
        known=(
            Known(
                "Java writes the text of an object or an array that is the name of a schema or a table; floe refuses it.",
                r"Java: (record|filtered), .*; floe: refused, .* in the metadata has to be a text, and is [\[{].*",
                ("dms",),
            ),
        ),
    ),
    "CopyValue": Case(
        f"{ICEBERG}.CopyValue",
        ({"source.field": "a", "target.field": "new"}, {"source.field": " b", "target.field": "c"}),
        refused=({"source.field": "a"}, {"target.field": "a"}),
    ),
    "JsonToMapTransform": Case(
        f"{ICEBERG}.JsonToMapTransform", ({}, {"json.root": "true"}), ("texts",), refused=({"json.root": "perhaps"},)
    ),
    "ExtractNewRecordState": Case(
        f"{DEBEZIUM}.ExtractNewRecordState",
        _NEW_RECORD_STATE,
        ("debezium structs", "structs", "objects"),
        refused=({"add.fields": "a:b:c"}, {"delete.tombstone.handling.mode": "keep"}),
        known=(
            Known(
                "A struct that add.fields names is refused by both; where it is null Java adds a struct without fields.",
                r"value\.schema\.fields\.\d+: Java \['__transaction', .*"
                r"|value\.value\.__transaction: Java null, floe \(nothing\)",
                ("debezium structs",),
            ),
        ),
        apart={"debezium objects": "Java leaves events without a schema as they are, floe takes the rows out of them"},
    ),
}
"""By the class's simple name."""
