"""The chains of transforms that are measured: their keys, and what they make of the columns of JSON without schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyiceberg.types import LongType, StringType, TimestamptzType

from bench.formats.orders import Fields
from bench.transforms.shapes import MARK, PLAIN_FIELDS, TIME_FORMAT

Chain = Mapping[str, str]

_KAFKA: Final = "org.apache.kafka.connect.transforms"
_EXCLUDED: Final = ("channel", "city")
_RENAMED: Final = {"customer_id": "customer", "store_id": "store"}
_INSERTED: Final[Fields] = (("kafka_topic", StringType()), ("kafka_offset", LongType()), ("site", StringType()))

NOTHING: Final[Chain] = {}

UNWRAP: Final[Chain] = {
    "transforms": "unwrap",
    "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
    "transforms.unwrap.delete.handling.mode": "drop",
}

FILTER: Final[Chain] = {
    "transforms": "drop",
    "transforms.drop.type": f"{_KAFKA}.Filter",
    "transforms.drop.predicate": "marked",
    "predicates": "marked",
    "predicates.marked.type": f"{_KAFKA}.predicates.HasHeaderKey",
    "predicates.marked.name": MARK,
}


def of_fields(time: str) -> Chain:
    """Return the chain that inserts three fields, leaves two out, renames two, and makes a time of ``time``.

    ``time``: ``ordered_at``, a text, or ``updated_at``, in epoch ms.
    """
    keys = {
        "transforms": "insert,replace,time",
        "transforms.insert.type": f"{_KAFKA}.InsertField$Value",
        "transforms.insert.topic.field": "kafka_topic",
        "transforms.insert.offset.field": "kafka_offset",
        "transforms.insert.static.field": "site",
        "transforms.insert.static.value": "shop",
        "transforms.replace.type": f"{_KAFKA}.ReplaceField$Value",
        "transforms.replace.exclude": ",".join(_EXCLUDED),
        "transforms.replace.renames": ",".join(f"{old}:{new}" for old, new in _RENAMED.items()),
        "transforms.time.type": f"{_KAFKA}.TimestampConverter$Value",
        "transforms.time.field": time,
        "transforms.time.target.type": "Timestamp",
    }
    return {**keys, "transforms.time.format": TIME_FORMAT} if time == "ordered_at" else keys


def columns_of(time: str) -> Fields:
    """Return the columns after that chain."""
    left = ((name, kind) for name, kind in PLAIN_FIELDS if name not in _EXCLUDED)
    renamed = ((_RENAMED.get(name, name), TimestamptzType() if name == time else kind) for name, kind in left)
    return (*renamed, *_INSERTED)
