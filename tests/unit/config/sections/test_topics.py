"""Which topics: a list, or an expression that a run resolves."""

import pytest

from floe.config import ConfigError, restore_config
from floe.config.sections.topics import matching_topics, with_topics

BY_REGEX = ("topics",)


def test_topics_are_trimmed_and_keep_their_order(connector):
    made = connector({"topics": " b , a "})
    assert (made.topics, made.topics_regex, made.source) == (("b", "a"), None, "b, a")


def test_missing_topics_are_named(problems):
    expected = (
        "Must specify topics: name at least one topic in topics, several with commas, or an expression in topics.regex"
    )
    assert problems(without=BY_REGEX) == (expected,)
    assert problems({"topics": "  ", "topics.regex": ""}) == (expected,)


@pytest.mark.parametrize("topics", ["a b", ".", "..", "a/b", "ä", "x" * 250])
def test_an_illegal_topic_name_is_refused(problems, topics):
    assert any("no legal topic name" in problem for problem in problems({"topics": topics}))


@pytest.mark.parametrize("topics", ["a,,b", "a,", ","])
def test_an_empty_topic_name_is_refused(problems, topics):
    assert "topics has an empty name before or behind a comma: remove it" in problems({"topics": topics})


def test_a_topic_named_twice_is_refused(problems):
    assert problems({"topics": "a,b,a"}) == ("topics names 'a' twice: keep one",)


def test_topics_and_topics_regex_exclude_each_other(problems, connector):
    (problem,) = problems({"topics.regex": "a.*"})
    assert problem.startswith("topics and topics.regex are mutually exclusive options")
    assert connector({"topics.regex": " "}).topics_regex is None


def test_expression_replaces_topics_until_a_run_resolves_it(connector):
    made = connector({"topics.regex": "orders-.*"}, BY_REGEX)
    assert (made.topics, made.topics_regex) == ((), "orders-.*")
    assert made.source == "topics matching orders-.*"


@pytest.mark.parametrize(
    "regex",
    ["(", "[a", "a{99999999999999999999}", r"\p{Alpha}+", "[a&&b]", "[[a]b]", "(?u)a", "(?L)a"],
)
def test_expression_that_python_reads_unlike_java_is_refused(problems, regex):
    (problem,) = problems({"topics.regex": regex}, BY_REGEX)
    assert problem.startswith(f"topics.regex: {regex!r} is no regular expression")


def test_an_expression_that_is_too_deep_or_too_long_is_refused(problems):
    assert "is no regular expression" in problems({"topics.regex": "(" * 3000}, BY_REGEX)[0]
    assert "4001 characters is too long" in problems({"topics.regex": "a" * 4001}, BY_REGEX)[0]


def test_the_whole_name_has_to_match(connector):
    made = connector({"topics.regex": "orders|pizzas-.*"}, BY_REGEX)
    names = ["pizzas-b", "my-orders", "orders", "orders-2", "pizzas-a", "orders"]
    assert matching_topics(made, names) == ("orders", "pizzas-a", "pizzas-b")


@pytest.mark.parametrize("tolerance", ["all", "none"])
def test_topics_of_kafka_and_of_the_connector_itself_never_match(connector, tolerance):
    over = {
        "topics.regex": ".*",
        "iceberg.control.topic": "control",
        "errors.tolerance": tolerance,
        "errors.deadletterqueue.topic.name": " letters ",
    }
    made = connector(over, BY_REGEX)
    names = ["__consumer_offsets", "control", "letters", "orders"]
    assert matching_topics(made, names) == ("orders",)
    assert restore_config(with_topics(made, ("orders",)).frozen(), made).topics == ("orders",)


def test_digits_are_ascii_as_in_java(connector):
    made = connector({"topics.regex": r"a\d"}, BY_REGEX)
    assert matching_topics(made, ["a1", "a\u0661"]) == ("a1",)


def test_an_expression_that_matches_nothing_is_an_error(connector):
    with pytest.raises(ConfigError, match=r"topics.regex 'x' matches no topic of the cluster"):
        matching_topics(connector({"topics.regex": "x"}, BY_REGEX), ["y"])


def test_resolved_connector_keeps_topics_after_restoring_config(connector):
    made = connector({"topics.regex": "a.*", "floe.table.rpc.pizzas.topics": "a1,a9"}, BY_REGEX)
    resolved = with_topics(made, ("a1", "a2"))
    assert (resolved.topics, resolved.topics_regex) == (("a1", "a2"), None)
    assert "topics.regex" not in resolved.properties
    assert restore_config(resolved.frozen(), made) == resolved, "though a9 does not exist yet"


def test_topics_sharing_a_table_are_found_on_resolving(connector):
    made = connector({"topics.regex": ".*", "floe.route.template": "raw.{topic}"}, ("topics", "iceberg.tables"))
    assert with_topics(made, ("a", "b")).topics == ("a", "b")
    with pytest.raises(ConfigError, match=r"topics 'a\.b' and 'a-b' are both 'a_b'"):
        with_topics(made, ("a.b", "a-b"))
