"""What becomes of bad records: tolerance, places for dead letters, and what does not go together."""

import pytest

from floe.config.keys.reader import Settings
from floe.config.sections.error_policy import ErrorPolicy, read_errors

TABLE = {"floe.deadletter.table": "ops.letters"}
TOPIC = {"errors.deadletterqueue.topic.name": "letters"}


def read(given: dict[str, str]) -> tuple[ErrorPolicy, Settings]:
    settings = Settings(given)
    settings.check_keys()
    policy = read_errors(settings, ("pizzas",), ("rpc.pizzas",), "control-iceberg")
    return policy, settings


def test_first_bad_record_fails_run_and_is_not_logged_by_default() -> None:
    policy, settings = read({})
    assert policy == ErrorPolicy(
        tolerate=False,
        log=False,
        log_messages=False,
        table=None,
        topic=None,
        topic_replication=3,
        context_headers=False,
        max_ratio=1.0,
    )
    assert (settings.problems, settings.warnings) == ([], [])


def test_every_key_is_read() -> None:
    policy, settings = read(
        {
            **TABLE,
            **TOPIC,
            "errors.tolerance": " all ",
            "errors.log.enable": "true",
            "errors.log.include.messages": "TRUE",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true",
            "floe.deadletter.max-ratio": "0.05",
        }
    )
    assert policy == ErrorPolicy(
        tolerate=True,
        log=True,
        log_messages=True,
        table="ops.letters",
        topic="letters",
        topic_replication=1,
        context_headers=True,
        max_ratio=0.05,
    )
    assert (settings.problems, settings.warnings) == ([], [])


@pytest.mark.parametrize("place", [TABLE, TOPIC, TABLE | TOPIC])
def test_who_names_a_place_for_dead_letters_tolerates_them(place: dict[str, str]) -> None:
    policy, settings = read(place)
    assert policy.tolerate
    assert (settings.problems, settings.warnings) == ([], [])


@pytest.mark.parametrize("place", [TABLE, TOPIC])
def test_none_beside_a_place_is_none_with_a_warning(place: dict[str, str]) -> None:
    policy, settings = read({**place, "errors.tolerance": "none"})
    assert (policy.tolerate, policy.table, policy.topic) == (False, None, None)
    [warning] = settings.warnings
    assert "a bad record fails the run and nothing is dead-lettered" in warning
    assert next(iter(place)) in warning


def test_all_without_a_place_is_as_in_connect_with_a_warning() -> None:
    policy, settings = read({"errors.tolerance": "all"})
    assert policy.tolerate
    [warning] = settings.warnings
    assert "nothing keeps them; set floe.deadletter.table" in warning


def test_blank_places_are_none_as_in_connect() -> None:
    policy, settings = read(dict.fromkeys(TABLE | TOPIC, " "))
    assert (policy.tolerate, policy.table, policy.topic) == (False, None, None)
    assert settings.problems == []


@pytest.mark.parametrize("value", ["ALL", "some", ""])
def test_another_tolerance_is_refused_in_the_words_of_connect(value: str) -> None:
    policy, settings = read({"errors.tolerance": value})
    assert settings.problems == [
        f"Invalid value {value} for configuration errors.tolerance: String must be one of: none, all"
    ]
    assert not policy.tolerate


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("floe.deadletter.table", "letters", "floe.deadletter.table: 'letters' names no namespace"),
        ("floe.deadletter.table", "rpc.pizzas", "is also one of iceberg.tables"),
        (
            "errors.deadletterqueue.topic.name",
            "a b",
            "errors.deadletterqueue.topic.name: 'a b' is no legal topic name",
        ),
        ("errors.deadletterqueue.topic.name", "pizzas", "is also one of topics"),
        ("errors.deadletterqueue.topic.name", "control-iceberg", "is also the control topic"),
        ("errors.deadletterqueue.topic.replication.factor", "0", "Value must be at least 1"),
        ("errors.deadletterqueue.topic.replication.factor", "many", "Not a number of type INT"),
        ("errors.deadletterqueue.context.headers.enable", "yes", "either true or false"),
    ],
)
def test_names_and_numbers_that_cannot_be_are_refused(key: str, value: str, problem: str) -> None:
    _, settings = read({key: value})
    assert any(problem in found for found in settings.problems)


@pytest.mark.parametrize(("text", "ratio"), [("0", 0.0), ("1", 1.0), (" .5 ", 0.5), ("5e-2", 0.05), ("+1.0", 1.0)])
def test_a_ratio_is_a_number_from_0_to_1(text: str, ratio: float) -> None:
    policy, settings = read({"floe.deadletter.max-ratio": text})
    assert policy.max_ratio == ratio
    assert (settings.problems, settings.warnings) == ([], [])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1.1", "Value must be between 0 and 1"),
        ("-0.1", "Value must be between 0 and 1"),
        ("5%", "Not a number"),
        ("nan", "Not a number"),
        ("infinity", "Not a number"),
        ("1e999", "Value must be between 0 and 1"),
        ("1_0", "Not a number"),
        ("\u0660", "Not a number"),
        ("", "Not a number"),
    ],
)
def test_another_ratio_is_refused_with_an_example(text: str, why: str) -> None:
    _, settings = read({"floe.deadletter.max-ratio": text})
    [problem] = settings.problems
    assert problem.startswith(f"Invalid value {text} for configuration floe.deadletter.max-ratio: {why}")
