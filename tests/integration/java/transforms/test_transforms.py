"""floe's transforms against the Java classes of Kafka, Iceberg and Debezium, record by record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from random import Random

import pytest

from floe.config.transforms.kafka_records import PREDICATES
from floe.config.transforms.transform_classes import TRANSFORMS
from tests.support.java.program import Ask, java_program
from tests.support.java.transforms.cases import (
    CASES,
    CHAINS_KNOWN,
    CONDITIONS,
    FORMS,
    WITHOUT_ORACLE,
    Case,
    Known,
    random_setup,
)
from tests.support.java.transforms.differences import FILTERED, RECORD, UNREAD, differences, tally
from tests.support.java.transforms.given import records
from tests.support.java.transforms.oracle import PACKAGES, PROGRAM, Refused, java_answers
from tests.support.java.transforms.outcomes import outcomes_of
from tests.support.java.transforms.setup import Options, Setup, Step

Java = Callable[[str], Ask]

MANY = 20_000
SIZES = [pytest.param(400, id="few"), pytest.param(MANY, id="many", marks=pytest.mark.hours)]
"""Records for each transform; and for all chains of a form."""

RECORDS_OF_CHAIN = 100
SHOWN, SHOWN_CHARACTERS = 4, 500


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    """Ask the Java classes of some jars, in one process for all tests."""
    with ExitStack() as programs:
        asked: dict[str, Ask] = {}

        def ask_of(jars: str) -> Ask:
            if jars not in asked:
                asked[jars] = programs.enter_context(java_program(PROGRAM, PACKAGES[jars], has_long_run=True))
            return asked[jars]

        yield ask_of


def compare(ask: Ask, setup: Setup, form: str, count: int, seed: str, known: Sequence[Known]) -> Counter[str]:
    """Run records of a form through both. Fails for differences that are not known.

    Returns what became of how many records in Java, and how many have which known difference.
    """
    specs, problems = setup.specs()
    assert problems == []
    given = records(FORMS[form], Random(seed), count)
    java = java_answers(ask, setup, given)
    reasons: Counter[str] = Counter()
    new: list[str] = []
    for place, problems in differences(java, outcomes_of(specs, setup, given)).items():
        found = [_reason(problem, known) for problem in problems]
        reasons.update(reason for reason in set(found) if reason)
        if None in found:
            new.append(f"{str(given[place])[:SHOWN_CHARACTERS]}\n  " + "\n  ".join(problems[:SHOWN]))
    assert not new, "\n".join([f"{len(new)} of {count} differ, by {setup.steps}", *new[:SHOWN]])
    return tally(java) + reasons


def _reason(problem: str, known: Sequence[Known]) -> str | None:
    return next((one.reason for one in known if re.fullmatch(one.problem, problem, re.DOTALL)), None)


@pytest.mark.parametrize("form", FORMS)
def test_records_without_transforms_are_the_same(java: Java, form: str) -> None:
    setup = Setup([], value=FORMS[form].value, key=FORMS[form].key)
    found = compare(java("relational"), setup, form, 400, form, ())
    assert found[RECORD] > 360, found


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize(("name", "form"), [(name, form) for name, case in CASES.items() for form in case.forms])
def test_transform_does_what_the_java_class_does(java: Java, name: str, form: str, count: int) -> None:
    case = CASES[name]
    each = count // (len(case.options) * len(case.forms))
    fates: Counter[str] = Counter()
    for options in case.options:
        fates += compare(
            java(case.jars), _setup(case, options, form), form, each, f"{name} {form} {options}", case.known
        )
    assert fates[UNREAD] < count // len(case.forms) // 10, "most records of a form are read"
    assert fates.keys() & {RECORD, FILTERED}, f"all are refused: {fates}"
    if count == MANY:
        assert {one.reason for one in case.known if form in one.forms} <= fates.keys(), "each known difference occurs"


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.refused])
def test_transform_options_that_java_refuses_are_refused(java: Java, name: str) -> None:
    case = CASES[name]
    for options in case.refused:
        setup = _setup(case, options, case.forms[0])
        with pytest.raises(Refused):
            java_answers(java(case.jars), setup, [])
        assert setup.specs()[1], options


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("form", ["objects", "structs", "debezium objects", "debezium structs"])
def test_random_chains_do_what_java_s_do(java: Java, form: str, count: int) -> None:
    for number in range(count // RECORDS_OF_CHAIN):
        random = Random(f"{form} {number}")
        setup = random_setup(random, form)
        known = [*(one for case in CASES.values() for one in case.known), *CHAINS_KNOWN]
        compare(java("relational"), setup, form, RECORDS_OF_CHAIN, f"{form} {number}", known)


def test_every_transform_and_predicate_is_compared() -> None:
    own = {one.name for one in TRANSFORMS.values()} - WITHOUT_ORACLE
    known = {name for name in own if not name.startswith("io.tabular.")}
    assert known == {case.type for case in CASES.values()}
    assert set(PREDICATES) == set(CONDITIONS)


def _setup(case: Case, options: Options, form: str) -> Setup:
    return Setup([Step(case.type, options)], value=FORMS[form].value, key=FORMS[form].key)
