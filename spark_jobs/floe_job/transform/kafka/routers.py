"""Kafka's transforms that read no values: RegexRouter, TimestampRouter and Filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from floe.config.expressions.java_regex import compile_captures, compile_expression, replaced, split_replacement
from floe.config.sections.transforms import PredicateSpec
from floe.config.transforms.kafka_records import NAME, PATTERN, Filter, RegexRouter, TimestampRouter
from floe_job.exceptions import TransformRefused
from floe_job.source.messages import has_header
from floe_job.transform.batch import ParsedBatch
from floe_job.transform.struct_fields import shown
from floe_job.types.java_dates.simple_date import SimpleDate

MAX_KNOWN: Final = 10_000
"""Topics whose new name is kept: transforms may make any number of them."""

MAX_TOPIC: Final = 10_000
"""Characters of a new topic: replacements may double what they get."""

_LINE_ENDS: Final = frozenset("\n\r\x85\u2028\u2029")


class RegexRouting:
    """Gives topics that match an expression as a whole another name."""

    def __init__(self, options: RegexRouter) -> None:
        """Raises ValueError for an expression that is too large for RE2."""
        found = compile_captures(options.regex)
        self._groups = found.groups
        self._whole = rf"\A(?:{found.pattern})\z"
        # the first match from the left, as Java's replaceFirst finds it, which may be shorter than the whole topic
        self._first = rf"\A(?P<before>(?s:.*?))(?P<g0>{found.pattern})(?P<behind>(?s:.*))\z"
        try:
            pc.match_substring_regex(pa.array([""]), self._first)
        except pa.ArrowInvalid as error:
            problem = f"the expression {shown(options.regex)} cannot be used: {error}; write a shorter one"
            raise ValueError(problem) from None
        self._parts = split_replacement(options.replacement, found.names, found.groups)
        self._known: dict[str, str | TransformRefused] = {}

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Rename topics."""
        return _renamed(batch, [self._new(topic) for topic in batch.read_topics()])

    def _new(self, topic: str) -> str | TransformRefused:
        if topic not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[topic] = self._replaced(topic)
        return self._known[topic]

    def _replaced(self, topic: str) -> str | TransformRefused:
        if _LINE_ENDS & set(topic) or not _is_unicode(topic):
            return TransformRefused(
                f"the topic {shown(topic)} has a line end, or is no Unicode, for a regular expression"
            )
        names = pa.array([topic])
        if not pc.match_substring_regex(names, self._whole)[0].as_py():
            return topic
        found = pc.extract_regex(names, self._first)[0].as_py()
        groups = [found[f"g{group}"] for group in range(self._groups + 1)]
        return f"{found['before']}{replaced(self._parts, groups)}{found['behind']}"


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class TimestampRouting:
    """Writes the time of records into the names of their topics."""

    def __init__(self, options: TimestampRouter) -> None:
        self._topic_format = options.topic_format
        self._format: Callable[[int], str] = SimpleDate.of(options.timestamp_format).format

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Rename topics; a record without a time is refused."""
        pairs = zip(batch.read_topics(), batch.read_timestamps(), strict=True)
        return _renamed(batch, [self._new(topic, timestamp) for topic, timestamp in pairs])

    def _new(self, topic: str, timestamp: int | None) -> str | TransformRefused:
        if timestamp is None:
            return TransformRefused(f"the record of topic {shown(topic)} has no time, for a topic with one")
        return self._topic_format.replace("${topic}", topic).replace("${timestamp}", self._format(timestamp))


class Filtering:
    """Leaves all records out that it sees."""

    def __init__(self, options: Filter) -> None:
        """Read nothing of ``options``: there are none."""

    def apply(self, batch: ParsedBatch) -> ParsedBatch:
        """Leave them out."""
        return batch.filter([False] * len(batch))


def _renamed(batch: ParsedBatch, topics: list[str | TransformRefused]) -> ParsedBatch:
    refused: dict[int, str] = {}
    names: list[str] = []
    for row, topic in enumerate(topics):
        if isinstance(topic, TransformRefused):
            refused[row] = topic.reason
        elif not topic or len(topic) > MAX_TOPIC:
            refused[row] = f"the new topic has {len(topic)} characters: it may have 1 to {MAX_TOPIC}"
        names.append("" if isinstance(topic, TransformRefused) else topic)
    return batch.changed(topics=names).reject(refused)


# Kafka's predicates.


class TopicNameMatches:
    """Holds where the whole current topic matches an expression."""

    def __init__(self, spec: PredicateSpec) -> None:
        self._expression = compile_expression(spec.options[PATTERN])
        self._known: dict[str, bool] = {}

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Say of each record whether it does."""
        if batch.topics is None:
            return [self._matches(batch.source.topic)] * len(batch)
        return [self._matches(topic) for topic in batch.topics]

    def _matches(self, topic: str) -> bool:
        if topic not in self._known:
            if len(self._known) >= MAX_KNOWN:
                self._known.clear()
            self._known[topic] = self._expression.fullmatch(topic)
        return self._known[topic]


class HasHeaderKey:
    """Holds where a record has a header of a name, whatever its value."""

    def __init__(self, spec: PredicateSpec) -> None:
        self._name = spec.options[NAME].strip()

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Say of each record whether it does; one whose headers cannot be read has none."""
        if batch.headers is None:
            return batch.source_messages.have_header(self._name)
        return [has_header(headers, self._name) for headers in batch.headers]


class RecordIsTombstone:
    """Holds where a record has no value."""

    def __init__(self, spec: PredicateSpec) -> None:
        """Read nothing of ``spec``: it has no options."""

    def test(self, batch: ParsedBatch) -> Sequence[bool]:
        """Say of each record whether it does."""
        found: list[bool] = batch.is_tombstone.tolist()
        return found
