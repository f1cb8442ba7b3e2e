"""Kafka's predicates: conditions on records, by which transforms apply to some of them."""

from typing import Final

from floe.config.engine import Engine
from floe.config.expressions.java_regex import check_expression
from floe.config.extensions import Registry
from floe.config.properties import Properties
from floe.config.transforms.options import PredicateClass

TOPIC_NAME_MATCHES: Final = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"
HAS_HEADER_KEY: Final = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"
RECORD_IS_TOMBSTONE: Final = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"
PATTERN: Final = "pattern"
NAME: Final = "name"
_SHOWN_CHARACTERS: Final = 100


def _check_pattern(problems: list[str], prefix: str, keys: Properties) -> None:
    if not keys.get(PATTERN, "").strip():
        problems.append(f"{prefix}{PATTERN} is missing: set the expression that whole names of topics have to match")
        return
    try:
        check_expression(keys[PATTERN])
    except ValueError as error:
        problems.append(f"{prefix}{PATTERN} {keys[PATTERN][:_SHOWN_CHARACTERS]!r} cannot be used: {error}")


def _check_name(problems: list[str], prefix: str, keys: Properties) -> None:
    if not keys.get(NAME, "").strip():
        problems.append(f"{prefix}{NAME} is missing: set the name of the header")


def _check_nothing(problems: list[str], prefix: str, keys: Properties) -> None:
    """Take what has no keys."""


_CODE: Final = "floe_job.transform.predicates"
_CLASSES: Final = (
    PredicateClass(TOPIC_NAME_MATCHES, (PATTERN,), _check_pattern, Engine(f"{_CODE}:TopicNameMatches")),
    PredicateClass(HAS_HEADER_KEY, (NAME,), _check_name, Engine(f"{_CODE}:HasHeaderKey")),
    PredicateClass(RECORD_IS_TOMBSTONE, (), _check_nothing, Engine(f"{_CODE}:RecordIsTombstone")),
)

PREDICATES: Final = Registry("floe.predicates", PredicateClass, {one.name: one for one in _CLASSES})
"""The keys and the code of each predicate, by its Java class."""
