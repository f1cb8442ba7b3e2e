"""Which topics a connector reads: a list of names, or all that match an expression."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from floe.config.exceptions import ConfigError
from floe.config.expressions.java_regex import check_expression, compile_expression
from floe.config.keys.reader import Settings
from floe.config.names import topic_problem
from floe.config.properties import Properties
from floe.config.sections.error_policy import DEAD_LETTER_TABLE, DEAD_LETTER_TOPIC
from floe.config.sections.routing import template_problems

if TYPE_CHECKING:
    from floe.config.connector import Connector

TOPICS, REGEX = "topics", "topics.regex"


def read_topics(settings: Settings) -> tuple[tuple[str, ...], str | None]:
    """Read the list, or the expression instead."""
    topics, regex = settings.not_empty(TOPICS), settings.text(REGEX)
    if topics and regex:
        settings.problems.append(f"{TOPICS} and {REGEX} are mutually exclusive options, but both are set: keep one")
    if not topics and not regex:
        settings.problems.append(
            f"Must specify topics: name at least one topic in {TOPICS}, several with commas, or an expression in {REGEX}"
        )
    if regex:
        try:
            check_expression(regex)
        except ValueError as error:
            settings.problems.append(f"{REGEX}: {error}")
    settings.problems.extend(f"{TOPICS}: {problem}" for topic in topics if (problem := topic_problem(topic)))
    twice = sorted(topic for topic, count in Counter(topics).items() if count > 1)
    settings.problems.extend(f"{TOPICS} names {topic[:300]!r} twice: keep one" for topic in twice)
    return topics, regex or None


def matching_topics(connector: "Connector", names: Iterable[str]) -> tuple[str, ...]:
    """Return, of all topics of a cluster, those that the connector's expression matches as a whole, sorted.

    Kafka's own topics (``__…``) and the connector's control and dead-letter topics never match.

    :raises ConfigError: none does.
    """
    pattern = compile_expression(connector.topics_regex or "")
    # the dead-letter topic also if bad records are not tolerated now: it still contains earlier ones
    own = {connector.control_topic, connector.properties.get(DEAD_LETTER_TOPIC, "").strip()}
    asked = sorted({name for name in names if not name.startswith("__") and name not in own})
    found = [name for name, is_match in zip(asked, pattern.matches(asked), strict=True) if is_match]
    if not found:
        msg = (
            f"{REGEX} {connector.topics_regex!r} matches no topic of the cluster: create one, or correct the expression"
        )
        raise ConfigError(msg)
    return tuple(found)


def with_topics(connector: "Connector", topics: tuple[str, ...]) -> "Connector":
    """Return the connector with its expression resolved to these topics.

    :raises ConfigError: they make invalid table names, or the same one for two topics.
    """
    template, dead_letters = connector.routing.template, connector.properties.get(DEAD_LETTER_TABLE, "").strip()
    if template is not None and (problems := list(template_problems(template, topics, dead_letters))):
        raise ConfigError(*problems)
    kept = {key: value for key, value in connector.properties.items() if key != REGEX}
    return replace(
        connector, topics=topics, topics_regex=None, properties=Properties(kept | {TOPICS: ",".join(topics)})
    )
