"""Which transforms are compared with the Java classes, with which options, on what.

A transform, or a predicate, needs a line here. The options name fields and headers that random records have: see ``NAMES`` in
``values.py`` and ``HEADER_NAMES`` in ``given.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from tests.support.java.transforms import changes, documents, values
from tests.support.java.transforms.case import Case, Known
from tests.support.java.transforms.change_cases import CHANGE_CASES
from tests.support.java.transforms.given import Form
from tests.support.java.transforms.kafka_cases import KAFKA_CASES
from tests.support.java.transforms.setup import Condition, Options, Setup, Step

FORMS: Final[dict[str, Form]] = {**values.FORMS, **changes.FORMS, **documents.FORMS}
"""What keys and values may be, by name."""

STRUCTS: Final = ("structs", "debezium structs", "mongodb structs")
"""Those with schemas."""

ICEBERG: Final = "org.apache.iceberg.connect.transforms"
KAFKA: Final = "org.apache.kafka.connect.transforms"
SIDES: Final = ("Value", "Key")
"""How the names of many of Kafka's classes end."""


CHAINS_KNOWN: Final = (
    Known(
        "What a transform made null has no schema any more, in Java that of the field: transforms of fields refuse it.",
        r"Java: refused, .*Cannot (list|look up) fields on non-struct type.*; floe: record, .*",
        (),
    ),
    Known(
        "MongoDebeziumTransform makes a tombstone of a value without a schema, here of an object that HoistField made.",
        r"Java: record, .*'value': \{'tree': None\}.*; floe: refused, .*a change event needs a schema, .*",
        (),
    ),
)
"""Differences that only transforms behind others have."""

_FILLS_NOT: Final = {"replace.null.with.default": "false"}
_REPLACE_FIELD: Final[Sequence[Options]] = (
    {"exclude": "a,c"},
    {"include": " a , b ,é"},
    {"renames": "a:new,c:x y"},
    {"exclude": "b", "include": "a,b,c", "renames": "a:z,d:a"},
    {"renames": "a:b,b:a", **_FILLS_NOT},
    {},
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
                r"value\..*timestamp: Java \(nothing\), floe None",
                ("objects",),
            ),
        ),
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
        ("structs",),
        known=(
            Known(
                "Java writes the value of a field that is left out where another one has its new name; floe refuses it.",
                r"Java: (record|filtered), .*; floe: refused, .* gives a name that another field has: .*",
                ("structs",),
            ),
        ),
        apart={
            "objects": "of two fields that get one name, Java keeps the one that its hash table has later, floe the later one"
        },
    ),
    **KAFKA_CASES,
    **CHANGE_CASES,
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
    cases = [case for case in CASES.values() if case.jars == "relational" and form not in case.apart]
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
