"""The settings of Kafka's transforms that change headers or the topic, and of Kafka's predicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.engine import Engine
from floe.config.expressions.date_pattern import pattern_doubts
from floe.config.expressions.java_regex import check_expression, check_replacement, compile_captures
from floe.config.extensions import Registry
from floe.config.keys.reader import OptionReader
from floe.config.properties import Properties
from floe.config.transforms.kafka_sides import (
    FILLS,
    Sided,
    choice_of,
    date_pattern_of,
    list_of,
    name_of,
    sided_classes,
    text_of,
    whole_class,
)
from floe.config.transforms.options import By, PredicateClass, Side, TopicKept, TransformOptions, of_job

# The settings of Kafka's transforms of headers: ``DropHeaders``, ``InsertHeader`` and ``HeaderFrom``.


MOVE, COPY = "move", "copy"
_HEADERS, _HEADER, _LITERAL = "headers", "header", "value.literal"
_FIELDS, _OPERATION = "fields", "operation"


@dataclass(frozen=True)
class DropHeaders(TopicKept):
    """``headers``: the names of those that are left out."""

    engine: ClassVar = of_job("kafka.headers:HeaderDrop", reads="nothing")

    headers: tuple[str, ...] = ()

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "header" and (not name or name in self.headers)


@dataclass(frozen=True)
class InsertHeader(TopicKept):
    """``header``: the name of a new one. ``literal``: its value, as Connect reads such texts."""

    engine: ClassVar = of_job("kafka.headers:HeaderInsert", reads="nothing")

    header: str = ""
    literal: str = ""

    def changes_routing(self, by: By, name: str) -> bool:
        return by == "header" and name in ("", self.header)


@dataclass(frozen=True)
class HeaderFrom(Sided):
    """``pairs``: the names of fields, each with that of its header. ``moves``: the fields are left out."""

    engine: ClassVar = of_job("kafka.headers:HeaderCopy", reads="columns")

    pairs: tuple[tuple[str, str], ...] = ()
    moves: bool = False

    def writes(self, name: str) -> bool:
        return self.moves and any(name == field for field, _ in self.pairs)

    def changes_routing(self, by: By, name: str) -> bool:
        if by == "header":
            return not name or any(name == header for _, header in self.pairs)
        return super().changes_routing(by, name)


def _read_drop(options: OptionReader) -> DropHeaders | None:
    return DropHeaders(list_of(options, _HEADERS, "the names of the headers"))


def _read_insert(options: OptionReader) -> InsertHeader | None:
    header, literal = text_of(options, _HEADER), text_of(options, _LITERAL)
    for key, text, what in ((_HEADER, header, "name"), (_LITERAL, literal, "value")):
        if text is None:
            options.problems.append(f"{options.prefix}{key} is missing: set the {what} of the header")
    return InsertHeader(header or "", literal or "")


def _read_from(options: OptionReader, side: Side) -> HeaderFrom | None:
    fields = list_of(options, _FIELDS, "the names of the fields")
    headers = list_of(options, _HEADERS, "the names of the headers")
    if len(fields) != len(headers) and not options.problems:
        options.refuse_value(
            _HEADERS, f"has {len(headers)} names, and {_FIELDS} has {len(fields)}: write a header for each"
        )
    operation = choice_of(options, _OPERATION, (MOVE, COPY))
    pairs = tuple(zip(fields, headers, strict=False))
    return HeaderFrom(side, options.boolean(FILLS, False), pairs, operation == MOVE)


HEADERS: Final = (
    whole_class("DropHeaders", (_HEADERS,), _read_drop),
    whole_class("InsertHeader", (_HEADER, _LITERAL), _read_insert),
    *sided_classes("HeaderFrom", (_FIELDS, _HEADERS, _OPERATION, FILLS), _read_from),
)


# The settings of Kafka's transforms that read no values: ``RegexRouter``, ``TimestampRouter`` and ``Filter``.


_REGEX, _REPLACEMENT = "regex", "replacement"
_TOPIC_FORMAT, _TIMESTAMP_FORMAT = "topic.format", "timestamp.format"


@dataclass(frozen=True)
class RegexRouter(TransformOptions):
    """A topic that matches ``regex`` as a whole gets what ``replacement`` makes of its first match."""

    engine: ClassVar = of_job("kafka.routers:RegexRouting", reads="nothing")

    regex: str
    replacement: str


@dataclass(frozen=True)
class TimestampRouter(TransformOptions):
    """``topic_format``: has ``${topic}`` and ``${timestamp}``; ``timestamp_format``: as SimpleDateFormat has it."""

    engine: ClassVar = of_job("kafka.routers:TimestampRouting", reads="nothing")

    topic_format: str = "${topic}-${timestamp}"
    timestamp_format: str = "yyyyMMdd"

    @property
    def doubts(self) -> tuple[str, ...]:
        doubts = pattern_doubts(self.timestamp_format, reads=False)
        return tuple(f"{_TIMESTAMP_FORMAT} {self.timestamp_format[:60]!r}: {doubt}" for doubt in doubts)


@dataclass(frozen=True)
class Filter(TopicKept):
    """Leaves records out: those for which its predicate holds."""

    engine: ClassVar = of_job("kafka.routers:Filtering", reads="nothing")

    def changes_routing(self, by: By, name: str) -> bool:
        return True


def _read_regex(options: OptionReader) -> RegexRouter | None:
    regex = name_of(options, _REGEX, "the expression that whole names of topics have to match")
    replacement = text_of(options, _REPLACEMENT)
    if replacement is None:
        options.problems.append(
            f"{options.prefix}{_REPLACEMENT} is missing: set the topic, with $1 for the first group"
        )
    if options.problems or replacement is None:
        return None
    try:
        found = compile_captures(regex)
    except ValueError as error:
        options.refuse_value(_REGEX, f"cannot be used: {error}")
        return None
    try:
        check_replacement(replacement, found.names, found.groups)
    except ValueError as error:
        options.refuse_value(_REPLACEMENT, f"cannot be used: {error}")
    return RegexRouter(regex, replacement)


def _read_timestamp(options: OptionReader) -> TimestampRouter | None:
    topic_format = text_of(options, _TOPIC_FORMAT)
    return TimestampRouter(
        TimestampRouter.topic_format if topic_format is None else topic_format,
        date_pattern_of(options, _TIMESTAMP_FORMAT, TimestampRouter.timestamp_format),
    )


ROUTERS: Final = (
    whole_class("RegexRouter", (_REGEX, _REPLACEMENT), _read_regex),
    whole_class("TimestampRouter", (_TOPIC_FORMAT, _TIMESTAMP_FORMAT), _read_timestamp),
    whole_class("Filter", (), lambda _: Filter()),
)


# Kafka's predicates: conditions on records, by which transforms apply to some of them.


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


_CODE: Final = "floe_job.transform.kafka.routers"
_CLASSES: Final = (
    PredicateClass(TOPIC_NAME_MATCHES, (PATTERN,), _check_pattern, Engine(f"{_CODE}:TopicNameMatches")),
    PredicateClass(HAS_HEADER_KEY, (NAME,), _check_name, Engine(f"{_CODE}:HasHeaderKey")),
    PredicateClass(RECORD_IS_TOMBSTONE, (), _check_nothing, Engine(f"{_CODE}:RecordIsTombstone")),
)

PREDICATES: Final = Registry("floe.predicates", PredicateClass, {one.name: one for one in _CLASSES})
"""The keys and the code of each predicate, by its Java class."""
