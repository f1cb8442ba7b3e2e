"""The handling of records that cannot become rows: the keys ``errors.*`` and ``floe.deadletter.*``."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from floe.config.keys.values import InvalidValue
from floe.config.names import table_problem, topic_problem

if TYPE_CHECKING:
    from floe.config.keys.reader import Settings

TOLERANCE = "errors.tolerance"
DEAD_LETTER_TABLE = "floe.deadletter.table"
DEAD_LETTER_TOPIC = "errors.deadletterqueue.topic.name"
REPLICATION = "errors.deadletterqueue.topic.replication.factor"
MAX_RATIO = "floe.deadletter.max-ratio"

_TOLERANCES = ("none", "all")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class ErrorPolicy:
    """The handling of bad records. ``tolerate``: they are left out and the run continues; else the first one fails it.

    ``table`` and ``topic`` are where they are kept: both None without ``tolerate``, even if configured. ``max_ratio``
    is the largest tolerated fraction of bad records in what was read, 0 to 1; 1 is no limit.
    """

    tolerate: bool
    log: bool
    log_messages: bool
    table: str | None
    topic: str | None
    topic_replication: int
    context_headers: bool
    max_ratio: float


def read_errors(
    settings: Settings, topics: Collection[str], tables: Collection[str], control_topic: str
) -> ErrorPolicy:
    """Read the policy and check it against the names that the connector has otherwise.

    A connector with a dead-letter table or topic and without ``errors.tolerance`` tolerates bad records. In Kafka
    Connect the same connector would stop at the first one, although a place for it is configured.
    """
    table = _read_table(settings, tables)
    topic = _read_topic(settings, topics, control_topic)
    tolerate = _read_tolerance(settings, table, topic)
    return ErrorPolicy(
        tolerate=tolerate,
        log=settings.boolean("errors.log.enable"),
        log_messages=settings.boolean("errors.log.include.messages"),
        table=table if tolerate else None,
        topic=topic if tolerate else None,
        topic_replication=settings.integer(REPLICATION),
        context_headers=settings.boolean("errors.deadletterqueue.context.headers.enable"),
        max_ratio=_read_ratio(settings),
    )


def _read_tolerance(settings: Settings, table: str | None, topic: str | None) -> bool:
    places = [key for key, place in ((DEAD_LETTER_TABLE, table), (DEAD_LETTER_TOPIC, topic)) if place is not None]
    if not settings.given(TOLERANCE):
        return bool(places)
    tolerance = settings.text(TOLERANCE)
    if tolerance not in _TOLERANCES:
        settings.problems.append(str(InvalidValue(TOLERANCE, tolerance, "String must be one of: none, all")))
        return False
    if tolerance == "none" and places:
        settings.warnings.append(
            f"{TOLERANCE} is none: a bad record fails the run and nothing is dead-lettered, although "
            f"{' and '.join(places)} {'is' if len(places) == 1 else 'are'} given; set {TOLERANCE} to all"
        )
    if tolerance == "all" and not places:
        settings.warnings.append(
            f"{TOLERANCE} is all and no place for dead letters is given: bad records are counted and left out, nothing "
            f"keeps them; set {DEAD_LETTER_TABLE} or {DEAD_LETTER_TOPIC}"
        )
    return tolerance == "all"


def _read_table(settings: Settings, tables: Collection[str]) -> str | None:
    table = settings.text(DEAD_LETTER_TABLE)
    if not table:
        return None
    if problem := table_problem(table):
        settings.problems.append(f"{DEAD_LETTER_TABLE}: {problem}")
    if table in tables:
        settings.problems.append(
            f"{DEAD_LETTER_TABLE} {table[:300]!r} is also one of iceberg.tables: dead letters have columns of their own; "
            "choose another table"
        )
    return table


def _read_topic(settings: Settings, topics: Collection[str], control_topic: str) -> str | None:
    topic = settings.text(DEAD_LETTER_TOPIC)
    if not topic:
        return None
    if problem := topic_problem(topic):
        settings.problems.append(f"{DEAD_LETTER_TOPIC}: {problem}")
    if topic in topics:
        settings.problems.append(
            f"{DEAD_LETTER_TOPIC} {topic[:300]!r} is also one of topics: dead letters would be read and rejected again and "
            "again; choose another topic"
        )
    if topic == control_topic:
        settings.problems.append(
            f"{DEAD_LETTER_TOPIC} {topic[:300]!r} is also the control topic: dead letters would be mixed with "
            "announcements; choose another topic"
        )
    return topic


def _read_ratio(settings: Settings) -> float:
    text = settings.text(MAX_RATIO)
    ratio = float(text) if _NUMBER.fullmatch(text) else None
    if ratio is None:
        why = "Not a number; write the share of bad records that a run may have, like 0.05"
    elif not 0 <= ratio <= 1:
        why = "Value must be between 0 and 1; it is a share of the records, 1 is no limit"
    else:
        return ratio
    settings.problems.append(str(InvalidValue(MAX_RATIO, text, why)))
    return 1.0
