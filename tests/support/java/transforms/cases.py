"""Which transforms are compared with the Java classes, with which options, on what.

A transform, or a predicate, needs a line here. The options name fields and headers that random records have: see ``NAMES`` in
``values.py`` and ``HEADER_NAMES`` in ``given.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.support.java.transforms import changes, documents, values
from tests.support.java.transforms.given import Form
from tests.support.java.transforms.setup import Condition, Options, Setup, Step

FORMS: Final[dict[str, Form]] = {**values.FORMS, **changes.FORMS, **documents.FORMS}
"""What keys and values may be, by name."""

STRUCTS: Final = ("structs", "debezium structs", "mongodb structs")
"""Those with schemas."""

ICEBERG: Final = "org.apache.iceberg.connect.transforms"
KAFKA: Final = "org.apache.kafka.connect.transforms"
DEBEZIUM: Final = "io.debezium.transforms"
SIDES: Final = ("Value", "Key")
"""How the names of many of Kafka's classes end."""


@dataclass(frozen=True)
class Known:
    """A difference that the documentation has. ``reason``: in a sentence. ``problem``: the pattern of what differs.

    Among 20,000 records it has to occur with each of the ``forms``.
    """

    reason: str
    problem: str
    forms: Sequence[str]


@dataclass(frozen=True)
class Case:
    """A transform. ``type``: the Java class. ``options``: each is compared on records of each of the ``forms``.

    ``refused``: options that neither takes. ``known``: differences. ``jars``: see ``PACKAGES`` in ``oracle.py``. ``failing``:
    forms with which floe's is yet to be mended, and why; chains of those forms are without it.
    """

    type: str
    options: Sequence[Options]
    forms: Sequence[str] = ("objects", "structs")
    refused: Sequence[Options] = ()
    known: Sequence[Known] = ()
    jars: str = "relational"
    failing: Mapping[str, str] = field(default_factory=dict)


_FILLS_NOT: Final = {"replace.null.with.default": "false"}
_REPLACE_FIELD: Final = (
    {"exclude": "a,c"},
    {"include": " a , b ,é"},
    {"renames": "a:new,c:x y"},
    {"exclude": "b", "include": "a,b,c", "renames": "a:z,d:a"},
    {"renames": "a:b,b:a", **_FILLS_NOT},
    {},
)

_NEW_RECORD_STATE: Final = (
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

CASES: Final[dict[str, Case]] = {
    "KafkaMetadataTransform": Case(
        f"{ICEBERG}.KafkaMetadataTransform",
        (
            {},
            {"field_name": "a", "nested": "true"},
            {"field_name": "é", "external_field": "b,constant value"},
            {"nested": "TRUE", "external_field": "source, x"},
        ),
        refused=({"external_field": "one"}, {"nested": "perhaps"}),
        known=(
            Known(
                "A record without a time has a field that is null, and in Java no such field: a table has null for both.",
                r"value\.\S*timestamp: Java \(nothing\), floe None",
                ("objects",),
            ),
        ),
        failing=dict.fromkeys(STRUCTS, "the struct with the metadata has lost its schema"),
    ),
    **{
        f"ReplaceField${side}": Case(
            f"{KAFKA}.ReplaceField${side}",
            _REPLACE_FIELD,
            refused=({"renames": "a"}, {"renames": "a:b:c"}),
        )
        for side in SIDES
    },
    "ReplaceField$Value, two fields of one name": Case(
        f"{KAFKA}.ReplaceField$Value",
        ({"renames": "a:b"}, {"renames": "h:c"}, {"exclude": "a", "renames": "a:b"}),
        known=(
            Known(
                "Java writes the value of a field that is left out where another one has its new name; floe refuses it.",
                r"Java: record, .*; floe: refused, .* gives a name that another field has: .*",
                ("structs",),
            ),
        ),
        failing={"objects": "of two fields that get one name, Java keeps the one that its hash table has later"},
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
                r"Java: record, .*; floe: refused, .* in the metadata has to be a text, and is [\[{].*",
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
        failing={
            "debezium objects": "Java leaves events without a schema as they are, floe takes the rows out of them"
        },
    ),
}
"""By the class's simple name, and a remark where a class has several."""

CONDITIONS: Final[dict[str, Sequence[Options]]] = {
    f"{KAFKA}.predicates.TopicNameMatches": (
        {"pattern": "orders"},
        {"pattern": "(?i)ORD.*"},
        {"pattern": r".*\.[a-z]+"},
    ),
    f"{KAFKA}.predicates.HasHeaderKey": ({"name": "h"}, {"name": "é"}, {"name": " b "}),
    f"{KAFKA}.predicates.RecordIsTombstone": ({},),
}
"""The options of predicates, by their Java class."""

WITHOUT_ORACLE: Final[frozenset[str]] = frozenset(
    f"io.confluent.connect.transforms.{name}"
    for name in ("ExtractTopic$Key", "ExtractTopic$Value", "ExtractTopic$Header", "TombstoneHandler")
)
"""Transforms whose Java classes no public repository serves."""

ONCE: Final = frozenset({f"{ICEBERG}.KafkaMetadataTransform"})
"""Transforms of which a chain has one: in Java all of a process share the settings of the one that was configured last."""

MAX_STEPS: Final = 5


def random_setup(random: Random, form: str) -> Setup:
    """Make a chain of any transforms, some of them with a predicate, for records of a form."""
    cases = [case for case in CASES.values() if case.jars == "relational" and form not in case.failing]
    steps: list[Step] = []
    for _ in range(random.randint(1, MAX_STEPS)):
        case = random.choice(
            [case for case in cases if case.type not in ONCE or case.type not in {s.type for s in steps}]
        )
        steps.append(Step(case.type, random.choice(case.options), *_condition(random)))
    return Setup(steps, value=FORMS[form].value, key=FORMS[form].key)


def _condition(random: Random) -> tuple[Condition | None, bool]:
    if not CONDITIONS or random.random() < 0.5:
        return None, False
    name = random.choice(list(CONDITIONS))
    return Condition(name, random.choice(CONDITIONS[name])), random.random() < 0.5
