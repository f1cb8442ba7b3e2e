"""Kafka's own transforms."""

from __future__ import annotations

from tests.support.job.transform_cases.case import Case
from tests.support.job.transforms import transform

_NO_OBJECTS = ("text", 7, ["a"])

KAFKA_CASES = {
    "insert-field": Case(
        transform("InsertField$Value", topic_field="t", partition_field="p", offset_field="o", timestamp_field="s"),
        bad=_NO_OBJECTS,
    ),
    "insert-field-key": Case(transform("InsertField$Key", static_field="a", static_value="b")),
    "cast": Case(transform("Cast$Value", spec="id:int8,to:string"), bad=(*_NO_OBJECTS, {"id": 128}, {"id": "x"})),
    "cast-key": Case(transform("Cast$Key", spec="string")),
    "timestamp-converter": Case(
        transform("TimestampConverter$Value", target_type="Timestamp", field="id"),
        bad=(*_NO_OBJECTS, {"id": 1.5}, {"id": 2**63}, {"id": "text"}),
    ),
    "timestamp-converter-key": Case(transform("TimestampConverter$Key", target_type="unix")),
    "mask-field": Case(
        transform("MaskField$Value", fields="id,x", replacement="1"),
        bad=(*_NO_OBJECTS, {"id": True}, {"id": [1]}),
        keeps_tombstones=False,
    ),
    "mask-field-key": Case(transform("MaskField$Key", fields="id"), plain=(), bad=({"id": 1},), keeps_tombstones=False),
    "extract-field": Case(transform("ExtractField$Value", field="to"), bad=_NO_OBJECTS),
    "extract-field-key": Case(transform("ExtractField$Key", field="a.b", field_syntax_version="V2")),
    "flatten": Case(transform("Flatten$Value"), bad=_NO_OBJECTS),
    "flatten-key": Case(transform("Flatten$Key", delimiter="_")),
    "hoist-field": Case(transform("HoistField$Value", field="v"), fills_tombstones=True),
    "hoist-field-key": Case(transform("HoistField$Key", field="v")),
    "regex-router": Case(transform("RegexRouter", regex="(piz)(.*)", replacement="$2$1")),
    "timestamp-router": Case(transform("TimestampRouter")),
    "filter": Case(transform("Filter"), plain=(), dropped=({}, "text"), keeps_tombstones=False),
    "drop-headers": Case(transform("DropHeaders", headers="h")),
    "insert-header": Case(transform("InsertHeader", header="h", value_literal="1")),
    "header-from": Case(
        transform("HeaderFrom$Value", fields="id", headers="h", operation="move"),
        bad=(*_NO_OBJECTS, {"id": 2**70}),
        keeps_tombstones=False,
    ),
    "header-from-key": Case(
        transform("HeaderFrom$Key", fields="id", headers="h", operation="copy"),
        plain=(),
        bad=({"id": 1},),
        keeps_tombstones=False,
    ),
    "value-to-key": Case(transform("ValueToKey", fields="id,x"), bad=_NO_OBJECTS, keeps_tombstones=False),
    "set-schema-metadata": Case(
        transform("SetSchemaMetadata$Value", schema_name="n"), plain=(), bad=({"id": 1}, *_NO_OBJECTS)
    ),
    "set-schema-metadata-key": Case(transform("SetSchemaMetadata$Key", schema_version="1")),
}
"""By a name."""
