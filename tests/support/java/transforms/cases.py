"""Which transforms are compared with the Java classes, with which options, on what.

A transform, or a predicate, needs a line here. The options name fields and headers that random records have: see ``NAMES`` in
``values.py`` and ``HEADER_NAMES`` in ``given.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from tests.support.java.transforms import changes, documents, values
from tests.support.java.transforms.given import Form
from tests.support.java.transforms.setup import Condition, Options, Setup, Step

FORMS: Final[dict[str, Form]] = {**values.FORMS, **changes.FORMS, **documents.FORMS}
"""What keys and values may be, by name."""

ICEBERG: Final = "org.apache.iceberg.connect.transforms"
KAFKA: Final = "org.apache.kafka.connect.transforms"


@dataclass(frozen=True)
class Known:
    """A difference that the documentation has. ``reason``: in a sentence. ``problem``: the pattern of a record's differences.

    Each has to occur in the case that has it.
    """

    reason: str
    problem: str


@dataclass(frozen=True)
class Case:
    """A transform. ``type``: the Java class. ``options``: each is compared on records of each of the ``forms``.

    ``refused``: options that neither takes. ``known``: differences. ``jars``: see ``PACKAGES`` in ``oracle.py``.
    """

    type: str
    options: Sequence[Options]
    forms: Sequence[str] = ("objects", "structs")
    refused: Sequence[Options] = ()
    known: Sequence[Known] = ()
    jars: str = "relational"


CASES: Final[dict[str, Case]] = {
    "KafkaMetadataTransform": Case(
        f"{ICEBERG}.KafkaMetadataTransform",
        (
            {},
            {"field_name": "a", "nested": "true"},
            {"field_name": "é", "external_field": "b,constant value"},
            {"nested": "TRUE", "external_field": "source, x "},
        ),
        refused=({"external_field": "one"}, {"nested": "perhaps"}),
        known=(
            Known(
                "A record without a time has a field that is null, and in Java no such field: a table has null for both.",
                r"value\.\S*timestamp: Java \(nothing\), floe None",
            ),
        ),
    ),
}
"""By the class's simple name."""

CONDITIONS: Final[dict[str, Sequence[Options]]] = {}
"""The options of predicates, by their Java class."""

WITHOUT_ORACLE: Final[frozenset[str]] = frozenset()
"""Transforms whose Java classes no public repository serves."""

MAX_STEPS: Final = 5


def random_setup(random: Random, form: str) -> Setup:
    """Make a chain of any transforms, some of them with a predicate, for records of a form."""
    cases = [case for case in CASES.values() if case.jars == "relational"]
    steps = [
        Step(case.type, random.choice(case.options), *_condition(random))
        for case in (random.choice(cases) for _ in range(random.randint(1, MAX_STEPS)))
    ]
    return Setup(steps, value=FORMS[form].value, key=FORMS[form].key)


def _condition(random: Random) -> tuple[Condition | None, bool]:
    if not CONDITIONS or random.random() < 0.5:
        return None, False
    name = random.choice(list(CONDITIONS))
    return Condition(name, random.choice(CONDITIONS[name])), random.random() < 0.5
