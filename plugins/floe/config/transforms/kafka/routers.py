"""The settings of Kafka's transforms that read no values: ``RegexRouter``, ``TimestampRouter`` and ``Filter``."""

from dataclasses import dataclass
from typing import ClassVar, Final

from floe.config.expressions.date_pattern import pattern_doubts
from floe.config.expressions.java_captures import compile_captures
from floe.config.expressions.java_replacement import check_replacement
from floe.config.keys.option_reader import OptionReader
from floe.config.transforms.kafka.sides import date_pattern_of, name_of, text_of, whole_class
from floe.config.transforms.options import By, TopicKept, TransformOptions, of_job

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


CLASSES: Final = (
    whole_class("RegexRouter", (_REGEX, _REPLACEMENT), _read_regex),
    whole_class("TimestampRouter", (_TOPIC_FORMAT, _TIMESTAMP_FORMAT), _read_timestamp),
    whole_class("Filter", (), lambda _: Filter()),
)
