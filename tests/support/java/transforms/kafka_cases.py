"""Kafka's own transforms as they are compared with the Java classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tests.support.java.transforms.case import Case, Known
from tests.support.java.transforms.setup import Options

KAFKA: Final = "org.apache.kafka.connect.transforms"
SIDES: Final = ("Value", "Key")
"""How the names of many of Kafka's classes end."""

FILLS_NOT: Final = {"replace.null.with.default": "false"}

_INSERT_FIELD: Final = (
    {"topic.field": "a", "timestamp.field": "t"},
    {"partition.field": "p!", "offset.field": "b?", "timestamp.field": "t?"},
    {"static.field": "s!", "static.value": " x ", **FILLS_NOT},
    {
        "topic.field": "t1",
        "partition.field": "t2",
        "offset.field": "t3",
        "timestamp.field": "t4",
        "static.field": "t5",
        "static.value": "",
    },
)
_CAST: Final = (
    {"spec": "a:int8,b:int16,c:int32,d:int64"},
    {"spec": "e:float32,f:float64,g:boolean,h:string"},
    {"spec": " a:STRING ,b: float32 ,c:boolean", **FILLS_NOT},
    {"spec": "h:int64,g:int32,f:string"},
    {"spec": "int32"},
    {"spec": "string"},
    {"spec": "zz:int8"},
)
_TIMES: Final = (
    {"target.type": "Timestamp", "field": "a"},
    {"target.type": "Date", "field": "b", "unix.precision": "seconds"},
    {"target.type": "Time", "field": "c", "unix.precision": "microseconds"},
    {"target.type": "unix", "field": "d", "unix.precision": "nanoseconds"},
    {"target.type": "unix", "field": "a", "unix.precision": "seconds", **FILLS_NOT},
    {"target.type": "unix", "field": "e", "format": "yyyy-MM-dd"},
    {"target.type": "string", "field": "f", "format": "yyyy-MM-dd'T'HH:mm:ss.SSS"},
    {"target.type": "string", "field": "f", "format": "yyyy-MM-dd", "unix.precision": "nanoseconds"},
    {"target.type": "Timestamp"},
    {"target.type": "Timestamp", "field": "zz"},
)
_MASK: Final = (
    {"fields": "a,b,c,d"},
    {"fields": " e , f , g , h ", **FILLS_NOT},
    {"fields": "a,b,c,d", "replacement": "12"},
    {"fields": "e,f,g,h", "replacement": "1.5"},
    {"fields": "a,c,e,g", "replacement": "***"},
)
_EXTRACT: Final = (
    {"field": "a"},
    {"field": "b.c", "field.syntax.version": "V2"},
    {"field": "a.b.c", "field.syntax.version": "V2", **FILLS_NOT},
    {"field": "`a`.b", "field.syntax.version": "v2"},
    {"field": "a.b", "field.syntax.version": "V1"},
    {"field": "h", **FILLS_NOT},
)
_HEADER_FROM: Final = (
    {"fields": "a,b", "headers": "h,new", "operation": "copy"},
    {"fields": "c,d,e", "headers": "x,y,z", "operation": "move"},
    {"fields": "f,g", "headers": "h,h", "operation": "move", **FILLS_NOT},
)


_BOTH: Final = ("objects", "structs")
_CAST_KNOWN: Final = (
    Known(
        "Java wraps a number that the type does not hold around, cuts it down or makes it infinite; floe refuses it.",
        r"Java: (record|filtered), .*; floe: refused, .* cannot be cast to (int\d+|float\d+): it is out of range.*",
        _BOTH,
    ),
    Known(
        "Java reads every text but true as false; floe refuses one that is neither.",
        r"Java: (record|filtered), .*; floe: refused, .* cannot be cast to boolean: write true or false.*",
        _BOTH,
    ),
    Known(
        "Java writes of a date before 1970-01-02 the time of the day alone; floe refuses it.",
        r"Java: (record|filtered), .*; floe: refused, .* of dates before 1970-01-02 .*",
        ("structs",),
    ),
    Known(
        "Of a whole value that is cast, the new schema has no name.",
        r"(value|key)\.schema\.(name|version|parameters): Java .*, floe (None|{})|"
        r"Java: refused, .*Invalid default value.*; floe: record, .*",
        (),
    ),
    Known(
        "Java before version 19 writes some numbers with more digits than are needed.",
        r"(value|key)\.(value(\.\w)?|schema\.fields\.\d\.1\.default): Java [0-9a-f]*45[0-9a-f]*, floe [0-9a-f]*45[0-9a-f]*",
        (),
    ),
)
_TIMES_KNOWN: Final = (
    Known(
        "Java takes the last possible time for one beyond it; floe refuses it.",
        r"Java: (record|filtered), .*; floe: refused, .* is beyond what the new type holds, .*",
        _BOTH,
    ),
    Known(
        "Java carries over a month of 13, reads .5 as 5 milliseconds and ignores text behind the date; floe refuses these.",
        r"Java: (record|filtered), .*; floe: refused, .* is no date of the pattern .*(and Java|Java carries) .*",
        (),
    ),
    Known(
        "Java takes Debezium's microseconds for milliseconds; floe refuses a precision that the numbers do not have.",
        r"Java: (record|filtered), .*; floe: refused, .*its numbers count .*",
        (),
    ),
)
_MASK_KNOWN: Final = (
    Known(
        "Java cuts a replacement down to the integer that the field can hold; floe refuses one that does not fit.",
        r"Java: (record|filtered), .*; floe: refused, .* is none of its type.*",
        _BOTH,
    ),
)


def _sided(
    name: str, options: Sequence[Options], refused: Sequence[Options] = (), known: Sequence[Known] = ()
) -> dict[str, Case]:
    return {f"{name}${side}": Case(f"{KAFKA}.{name}${side}", options, refused=refused, known=known) for side in SIDES}


KAFKA_CASES: Final[dict[str, Case]] = {
    **_sided(
        "InsertField",
        _INSERT_FIELD,
        ({}, {"static.field": "a"}, {"static.value": "a"}, {"topic.field": "a", "replace.null.with.default": "x"}),
    ),
    **_sided(
        "Cast",
        _CAST,
        ({}, {"spec": ""}, {"spec": "a:int9"}, {"spec": "a:b:int8"}, {"spec": "int8,a:int8"}, {"spec": "a:bytes"}),
        _CAST_KNOWN,
    ),
    **_sided(
        "TimestampConverter",
        _TIMES,
        (
            {},
            {"target.type": "date"},
            {"target.type": "string"},
            {"target.type": "unix", "unix.precision": "minutes"},
            {"target.type": "string", "format": "bbb"},
        ),
        _TIMES_KNOWN,
    ),
    **_sided("MaskField", _MASK, ({}, {"fields": ""}, {"fields": "a", "replacement": ""}), _MASK_KNOWN),
    **_sided(
        "ExtractField",
        _EXTRACT,
        ({}, {"field": "a", "field.syntax.version": "V3"}, {"field": "`a", "field.syntax.version": "V2"}),
    ),
    **_sided("Flatten", ({}, {"delimiter": "_"}, {"delimiter": ""})),
    **_sided("HoistField", ({"field": "a"}, {"field": "x y"}), ({},)),
    **_sided(
        "SetSchemaMetadata",
        (
            {"schema.name": "new.Name"},
            {"schema.version": "7"},
            {"schema.name": "n", "schema.version": "2", **FILLS_NOT},
        ),
        ({}, {"schema.version": "x"}),
    ),
    **_sided(
        "HeaderFrom",
        _HEADER_FROM,
        (
            {},
            {"fields": "a", "headers": "b"},
            {"fields": "a,b", "headers": "b", "operation": "copy"},
            {"fields": "a", "headers": "b", "operation": "drop"},
        ),
        (
            Known(
                "Java before version 19 writes some numbers with more digits than are needed.",
                r"headers\.\d+\.1: Java [0-9a-f]*45[0-9a-f]*, floe [0-9a-f]*45[0-9a-f]*",
                (),
            ),
            Known(
                "A map in a header stands in another order if its keys are floats, or if a key is given twice.",
                r"headers\.\d+\.1: Java [0-9a-f]*7b[0-9a-f]*, floe [0-9a-f]*7b[0-9a-f]*",
                (),
            ),
        ),
    ),
    "RegexRouter": Case(
        f"{KAFKA}.RegexRouter",
        (
            {"regex": "orders", "replacement": "x"},
            {"regex": "(.*)\\.(?<table>[^.]+)$", "replacement": "${table}-$1"},
            {"regex": "(?i)(o|or).*", "replacement": "[$1|$0]\\$"},
            {"regex": "(a)?(.)(.*?)(\\d*)", "replacement": "$1$2_$3$44$12"},
            {"regex": "a|a-.*|ord|.*", "replacement": "X"},
            {"regex": ".*", "replacement": "X$0Y"},
        ),
        refused=({}, {"regex": "a"}, {"replacement": "a"}, {"regex": "(", "replacement": "a"}),
    ),
    "TimestampRouter": Case(
        f"{KAFKA}.TimestampRouter",
        (
            {},
            {"topic.format": "x-${timestamp}-${topic}-${topic}", "timestamp.format": "yyyy-MM-dd'T'HH"},
            {"topic.format": "fixed"},
        ),
        known=(
            Known(
                "floe parses no value for it, so a record without a time is refused here though no converter reads it.",
                r"Java: unread, .*; floe: refused, .* has no time.*",
                (),
            ),
        ),
    ),
    "Filter": Case(f"{KAFKA}.Filter", ({},)),
    "DropHeaders": Case(
        f"{KAFKA}.DropHeaders", ({"headers": "h"}, {"headers": " b , é "}), refused=({}, {"headers": ""})
    ),
    "InsertHeader": Case(
        f"{KAFKA}.InsertHeader",
        (
            {"header": "h", "value.literal": "1"},
            {"header": "new", "value.literal": " text "},
            {"header": "n", "value.literal": '{"a":[1,2.5],"b":[true]}'},
            {"header": "n", "value.literal": "2024-01-02T03:04:05.678Z"},
            {"header": "n", "value.literal": "null"},
        ),
        refused=({}, {"header": "a"}, {"value.literal": "1"}),
    ),
    "ValueToKey": Case(
        f"{KAFKA}.ValueToKey", ({"fields": "a,b"}, {"fields": "h", **FILLS_NOT}), refused=({}, {"fields": ""})
    ),
}
"""By the class's simple name."""
